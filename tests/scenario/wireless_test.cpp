// Lines whose rate, delay and loss change by themselves: the default controller follows them and keeps the queue short.
// `udtx-sim-scores --only starlink 5g` runs them for longer, beside other controllers.
#include "sim/wireless.hpp"

#include "sim/scenario.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr double kPayload = 0.96;
constexpr Duration kFrom = 4s;

struct Outcome {
    double part = 0.0;  ///< of what the line can carry
    Duration queue{};   ///< mean
    std::string table;
};

Outcome run(const WirelessLine& line, std::uint64_t seed, Duration to, const FlowSpec& flow) {
    FlowRigSetup setup = line.setup(seed);
    setup.flows = {flow};
    FlowRig rig(setup);
    line.attach(rig);
    rig.run_for(to);
    return {.part = rig.goodput(kFrom, to).bytes_in(to - kFrom) / (kPayload * line.carries(kFrom, to)),
            .queue = rig.queue_delay(kFrom, to).mean,
            .table = rig.table(kFrom, to)};
}

}  // namespace

// Each seed has its own line. CUBIC gets at most 0.16 of one. Held jitter and losses together still cost udtx up to two
// thirds of a line (docs/lab/wireless.md).
TEST_CASE("udtx on a Starlink-like line: handovers, outages and clusters of losses do not stop it") {
    std::vector<double> parts;
    for (const std::uint64_t seed : some_seeds(6)) {
        const Outcome o = run(starlink(seed, 30s), seed, 30s, {.cc = "udtx"});
        INFO("seed " << seed << ", part " << o.part << "\n" << o.table);
        CHECK(o.part > 0.2);
        CHECK(o.queue < 30ms);
        parts.push_back(o.part);
    }
    CHECK(spread(parts).median > 0.45);
}

// CUBIC has a mean queue of 155 ms and more.
TEST_CASE("udtx on a 5G line: it follows blockage without filling the deep buffer") {
    for (const std::uint64_t seed : some_seeds(6)) {
        const Outcome o = run(millimetre_wave(seed, 20s), seed, 20s, {.cc = "udtx"});
        INFO("seed " << seed << ", part " << o.part << "\n" << o.table);
        CHECK(o.part > 0.65);
        CHECK(o.queue < 80ms);
    }
}
