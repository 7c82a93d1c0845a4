// The congestion-degree paper's claims that a single flow can show (its figures 3, 7 and 8); fairness is measured in
// ns-3.
#include <algorithm>

#include "sim/flows.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr CrossTraffic kCross{.bits_per_second = 50'000'000, .from = 5s, .on = 2s, .off = 1s};

/// 100 Mbit/s, 60 ms, a sender's line as fast as the bottleneck (what spaces the pairs), 0.3 s of queue.
FlowRigSetup papers_line(const std::string& cc, std::uint64_t seed) {
    return {.name = cc + " under on/off cross traffic",
            .seed = seed,
            .bits_per_second = 100'000'000,
            .rtt = 60ms,
            .queue_bytes = 3'750'000,
            .access_bits_per_second = 100'000'000,
            .flows = {{.cc = cc}},
            .cross = kCross};
}

/// Median MTR in Mbit/s while the cross traffic is on; the first half second of each time is left to the round trip and
/// the queue's filling.
double median_mtr(const FlowRig& rig) {
    std::vector<double> values;
    for (std::size_t i = 0; i < rig.samples().size(); ++i) {
        const Duration t = FlowRig::kSample * static_cast<std::int64_t>(i);
        if (t < kCross.from) continue;
        const Duration phase = (t - kCross.from) % (kCross.on + kCross.off);
        if (phase > 500ms && phase < kCross.on) values.push_back(rig.samples()[i].flows[0].mtr_bps / 1e6);
    }
    std::sort(values.begin(), values.end());
    return values.at(values.size() / 2);
}

}  // namespace

TEST_CASE("cd: the MTR follows cross traffic of half the line, UDT's stays above") {
    for (const std::uint64_t seed : some_seeds(2)) {
        FlowRig udt(papers_line("udt", seed));
        FlowRig cd(papers_line("cd", seed));
        udt.run_for(30s);
        cd.run_for(30s);
        INFO(udt.table(5s, 30s) << cd.table(5s, 30s));
        CHECK(median_mtr(cd) == Approx(50.0).epsilon(0.2));
        CHECK(median_mtr(udt) > 60.0);
        // Figure 8: a single flow gets the same through.
        CHECK(cd.goodput(0, 5s, 30s).bps() >= 0.97 * udt.goodput(0, 5s, 30s).bps());
    }
}
