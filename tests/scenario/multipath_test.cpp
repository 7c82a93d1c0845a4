// Several paths: they add up, die, return, and stay within what the peer allows.
#include "multipath_rig.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

const LinkParams kLine{.bits_per_second = 100'000'000, .delay = 10ms, .queue_bytes = 250'000};

double goodput(std::uint64_t bytes, Duration time) { return static_cast<double>(bytes) * 8.0 / to_seconds(time); }

}  // namespace

TEST_CASE("two equal paths add up for a placed stream") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const std::uint64_t bytes = 200'000'000;
        MultipathRig rig({.name = "two equal paths", .lines = {kLine, kLine}, .seed = seed});
        Scenario& s = rig.scenario();
        const Bulk bulk = rig.start({.bytes = bytes});
        SIM_REQUIRE(s, s.run_until([&] { return bulk.done(); }, 60s));
        SIM_CHECK(s, goodput(bytes, s.elapsed()) >= 0.95 * 2 * 100e6 * 0.96);
        std::printf("%.1f Mbit/s\n", goodput(bytes, s.elapsed()) / 1e6);
        for (std::size_t i = 0; i < 2; ++i) {
            const auto p = rig.path(i);
            std::printf("  path %zu: %d sent %lu delivered %lu lost %lu pto %lu susp %lu srtt %.1f ms mtr %.1f\n", i, int(p.state), p.sent_packets, p.delivered_bytes, p.lost_packets, p.probe_timeouts, p.suspensions, to_seconds(p.smoothed_rtt)*1e3, p.congestion.mtr.bps()/1e6);
        }
    }
}
