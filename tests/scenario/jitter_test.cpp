// The default controller with delays that change without a queue: packets are held up behind the bottleneck, in order.
#include "sim/flows.hpp"
#include "sim/scenario.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

struct Cell {
    std::uint64_t mbps;
    Duration jitter;
    double loss;
    double least;  // least part of the link's rate
};

FlowRigSetup line(const Cell& cell, std::uint64_t seed) {
    FlowRigSetup setup;
    setup.name = "jitter";
    setup.seed = seed;
    setup.bits_per_second = cell.mbps * 1'000'000;
    setup.rtt = 100ms;
    setup.jitter = cell.jitter;
    setup.loss = cell.loss;
    setup.flows.push_back({.cc = "udtx"});
    return setup;
}

}  // namespace

// If jitter counts as a queue, these cells reach 0.72 to 0.92, 0.42 to 0.60, 0.3 and 0.58 of the link.
TEST_CASE("udtx with jitter that keeps the order: fills the line and keeps the queue short") {
    // docs/lab/jitter.md has the results with the seeds 1 to 8. The bounds are wider, to hold for other seeds.
    for (const Cell& cell :
         {Cell{100, 3ms, 0.0, 0.85}, {100, 5ms, 0.0, 0.80}, {100, 5ms, 0.01, 0.80}, {20, 10ms, 0.0, 0.80}}) {
        if (size_scale() < 1.0 && cell.mbps > 20) continue;
        FlowRig rig(line(cell, some_seeds(1)[0]));
        rig.run_for(16s);
        INFO(cell.mbps << " Mbit/s, jitter " << to_seconds(cell.jitter) * 1e3 << " ms\n" << rig.table(6s, 16s));
        CHECK(rig.goodput(6s, 16s).bps() > cell.least * static_cast<double>(cell.mbps) * 1e6 * (1.0 - cell.loss));
        CHECK(rig.queue_delay(6s, 16s).mean < 25ms);
    }
}

TEST_CASE("udtx with jitter that keeps the order: two flows share the line", "[whole]") {
    UDTX_WHOLE_ONLY();
    auto setup = line({100, 3ms, 0.0, 0.0}, some_seeds(1)[0]);
    setup.flows.push_back({.cc = "udtx", .start = 3s});
    FlowRig rig(setup);
    rig.run_for(20s);
    INFO(rig.table(10s, 20s));
    CHECK(rig.goodput(10s, 20s).bps() > 0.85 * 100e6);
    for (std::size_t i = 0; i < 2; ++i) CHECK(rig.goodput(i, 10s, 20s).bps() > 0.3 * 100e6);
    CHECK(rig.queue_delay(10s, 20s).mean < 40ms);
}
