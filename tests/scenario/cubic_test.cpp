// CUBIC compared with RFC 9438.
#include <cmath>

#include "sim/flows.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

TEST_CASE("cubic: keeps a line busy whose queue holds what the decrease takes away") {
    // After a decrease to 0.7 the link becomes idle unless the queue holds 0.3 / 0.7 of the bandwidth-delay product.
    for (const double queue : {0.5, 1.0, 8.0}) {
        FlowRig rig({.name = "cubic alone",
                     .bits_per_second = 20'000'000,
                     .rtt = 100ms,
                     .queue_bdp = queue,
                     .flows = {{.cc = "cubic"}}});
        rig.run_for(40s);
        INFO(rig.table(5s, 40s));
        CHECK(rig.utilisation(5s, 40s) > 0.97);
        CHECK(rig.drops(5s, 40s) < 0.005);
    }
}

TEST_CASE("cubic: random loss leaves the mean window that the RFC gives") {
    // Section 5.2: 1.054 (RTT / p)^(3/4) segments, or Reno's 1.22 / sqrt(p) if that is more.
    for (const double p : {0.0001, 0.001, 0.01}) {
        const double window = std::max(1.054 * std::pow(0.1 / p, 0.75), 1.22 / std::sqrt(p));
        const double expected = std::min(window * 1472 * 8 / 0.1, 98e6);
        double mean = 0.0;
        const auto seeds = some_seeds(3);
        for (const std::uint64_t seed : seeds) {
            FlowRig rig({.name = "cubic, loss", .seed = seed, .rtt = 100ms, .loss = p, .flows = {{.cc = "cubic"}}});
            rig.run_for(120s);
            mean += rig.utilisation(20s, 120s) * 100e6 / static_cast<double>(seeds.size());
        }
        INFO("loss " << p << ": " << mean / 1e6 << " of " << expected / 1e6 << " Mbit/s");
        CHECK(mean > 0.6 * expected);  // the formulas are means for a deterministic loss
        CHECK(mean < 1.5 * expected);
    }
}

TEST_CASE("cubic: flows of equal round-trip time share") {
    FlowRig rig({.name = "cubic, late-comer",
                 .bits_per_second = 20'000'000,
                 .rtt = 40ms,
                 .flows = {{.cc = "cubic"}, {.cc = "cubic", .start = 5s}}});
    rig.run_for(90s);
    INFO(rig.table(30s, 90s));
    CHECK(rig.jain(30s, 90s) > 0.9);
    CHECK(rig.utilisation(30s, 90s) > 0.97);
}
