// 500 links with random parameters: udtx does not collapse, starves no flow and keeps the queue bounded.
//
// Split over processes: UDTX_CELLS_PART=i runs every cell n with n mod kParts == i. Without it all parts run.
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/flows.hpp"
#include "sim/prng.hpp"
#include "sim/scenario.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr std::uint64_t kCells = 500;
constexpr std::uint64_t kParts = 5;
constexpr double kLine = 0.93;  // stream bytes per byte of a full link, with room for the packet size search

// Log-uniform: each octave is equally likely.
double between(Prng& prng, double low, double high) {
    const double part = static_cast<double>(prng.below(1U << 20U)) / static_cast<double>(1U << 20U);
    return low * std::pow(high / low, part);
}

FlowRigSetup draw(std::uint64_t cell) {
    Prng prng = Prng::derive(seed_or_environment(2026), cell);
    FlowRigSetup setup;
    setup.name = "cell " + std::to_string(cell);
    setup.seed = prng.next();
    setup.bits_per_second = static_cast<std::uint64_t>(between(prng, 5e6, 200e6));
    setup.rtt = from_seconds(between(prng, 0.01, 0.25));
    setup.queue_bdp = between(prng, 0.1, 8.0);
    setup.loss = prng.chance(0.5) ? between(prng, 1e-4, 0.05) : 0.0;
    const std::uint64_t flows = 1 + prng.below(3);
    for (std::uint64_t i = 0; i < flows; ++i) {
        setup.flows.push_back({.cc = "udtx", .start = std::chrono::seconds(i)});
    }
    // The effect of a very small buffer on bursts is not under test here.
    const double least = 10.0 * 1500.0 * static_cast<double>(flows);
    const double bytes = static_cast<double>(setup.bits_per_second) / 8.0 * to_seconds(setup.rtt) * setup.queue_bdp;
    setup.queue_bytes = static_cast<std::uint64_t>(std::max(bytes, least));
    return setup;
}

std::vector<std::uint64_t> cells() {
    const char* part = std::getenv("UDTX_CELLS_PART");
    const std::uint64_t step = size_scale() < 1.0 ? 25 : 1;
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t n = 0; n < kCells; ++n) {
        if (part != nullptr && n % kParts != std::strtoull(part, nullptr, 10)) continue;
        if (n / kParts % step == 0) chosen.push_back(n);
    }
    return chosen;
}

}  // namespace

TEST_CASE("udtx on random lines: no collapse, no starvation, no runaway queue") {
    const auto chosen = cells();
    REQUIRE_FALSE(chosen.empty());  // a part without cells would pass
    for (const std::uint64_t cell : chosen) {
        const FlowRigSetup setup = draw(cell);
        FlowRig rig(setup);
        const Duration from = 8s;
        const Duration to = 14s;
        rig.run_for(to);
        INFO(setup.bits_per_second / 1000 << " kbit/s, " << to_seconds(setup.rtt) * 1e3 << " ms, queue "
                                          << setup.queue_bytes << " bytes, loss " << setup.loss << "\n"
                                          << rig.table(from, to));
        const double line = kLine * static_cast<double>(setup.bits_per_second);
        const double all = rig.goodput(from, to).bps();
        CHECK(all > 0.75 * line * (1.0 - setup.loss));
        const double fair = all / static_cast<double>(setup.flows.size());
        for (std::size_t i = 0; i < setup.flows.size(); ++i) CHECK(rig.goodput(i, from, to).bps() > 0.2 * fair);
        // A few q_h and Lp for each doubling of the flows, independent of the buffer.
        const double packet = 1500.0 * 8.0 / static_cast<double>(setup.bits_per_second);
        const double rest = 0.004 + 0.03 * to_seconds(setup.rtt) + 3.0 * packet;
        CHECK(to_seconds(rig.queue_delay(from, to).mean) < 4.0 * rest + 0.25 * to_seconds(setup.rtt));
        CHECK(rig.drops(from, to) < 0.08);
    }
}
