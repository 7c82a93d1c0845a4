// BBRv3 in the whole protocol.
#include "sim/flows.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

TEST_CASE("bbr: alone it uses nine tenths of the line at random losses up to 1 %, with a bounded queue") {
    for (const double loss : {0.0, 0.001, 0.01}) {
        for (const std::uint64_t seed : some_seeds(3)) {
            FlowRig rig({.name = "bbr alone",
                         .seed = seed,
                         .bits_per_second = 50'000'000,
                         .rtt = 100ms,
                         .queue_bdp = 4.0,
                         .loss = loss,
                         .flows = {{.cc = "bbr"}}});
            rig.run_for(30s);
            INFO("loss " << loss << "\n" << rig.table(5s, 30s));
            CHECK(rig.utilisation(5s, 30s) >= 0.9);
            // The window in ProbeBW_UP is 2.25 times the bandwidth-delay product
            CHECK(rig.queue_delay(5s, 30s).max < 130ms);
            CHECK(rig.queue_delay(5s, 30s).mean < 25ms);
            CHECK(rig.drops(5s, 30s) == 0.0);
        }
    }
}

TEST_CASE("bbr: a shallow queue costs headroom, not losses") {
    FlowRig rig({.name = "bbr, 0.1 BDP", .rtt = 50ms, .queue_bdp = 0.1, .flows = {{.cc = "bbr"}}});
    rig.run_for(20s);
    INFO(rig.table(5s, 20s));
    // Headroom 0.15 below a bound of about 1.1 times the bandwidth-delay product
    CHECK(rig.utilisation(5s, 20s) >= 0.8);
    CHECK(rig.drops(5s, 20s) < 0.02);  // BBR's loss threshold
}

TEST_CASE("bbr: beside CUBIC neither starves") {
    for (const double queue : {1.0, 4.0}) {
        FlowRig rig({.name = "bbr and cubic",
                     .bits_per_second = 40'000'000,
                     .rtt = 40ms,
                     .queue_bdp = queue,
                     .flows = {{.cc = "bbr"}, {.cc = "cubic"}}});
        rig.run_for(60s);
        INFO(rig.table(20s, 60s));
        const double share = rig.goodput(0, 20s, 60s).bps() / rig.goodput(20s, 60s).bps();
        CHECK(share > 0.2);
        CHECK(share < 0.8);
        CHECK(rig.utilisation(20s, 60s) > 0.95);
    }
}
