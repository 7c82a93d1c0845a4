// The experiments of Kim, Lee and Kim, "Improving the performance of Multipath TCP using Delay Alerted Path-blocking
// Scheduler in Heterogeneous Networks" (2017), without ns-3. The paper's "10 ms" are round trips. Its receive buffer is
// 0.4 MB, as the reported 27.5 Mbit/s imply. `rr`, `minrtt` and `dapb` have no reinjection, as in the paper.
#include <algorithm>
#include <cstdio>
#include <string>

#include "papers_rig.hpp"
#include "sim/flows.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

PaperSetup scheduled(const std::string& scheduler, std::vector<PaperLine> lines) {
    const bool ours = scheduler == "eds";
    return {.lines = std::move(lines),
            .datagram = 1472,
            .window = 280,
            .scheduler = scheduler,
            .congestion = ours ? "udtx" : "lia",
            .reinject = ours};
}

/// Figure 9: a link of 100 Mbit/s and 10 ms, and a second link with this round trip; seconds 2 to 6.
double beside(const std::string& scheduler, Duration rtt) {
    PaperRig rig(scheduled(scheduler, {{.bits_per_second = 100'000'000, .delay = 5ms},
                                       {.bits_per_second = 100'000'000, .delay = rtt / 2}}));
    rig.run(6s);
    return rig.mbps(2, 6);
}

/// Figure 8: the second link has another rate.
double beside_rate(const std::string& scheduler, std::uint64_t mbps) {
    PaperRig rig(scheduled(scheduler, {{.bits_per_second = 100'000'000, .delay = 5ms},
                                       {.bits_per_second = mbps * 1'000'000, .delay = 5ms}}));
    rig.run(6s);
    return rig.mbps(2, 6);
}

double alone(std::uint64_t mbps) {
    PaperRig rig(scheduled("rr", {{.bits_per_second = mbps * 1'000'000, .delay = 5ms}}));
    rig.run(6s);
    return rig.mbps(2, 6);
}

struct Ramps {
    double mean = 0.0;    ///< Mbit/s, weighted as in the paper's 100 s: 40 s in the ramps and 60 s outside
    double within = 0.0;  ///< mean of the seconds in which a delay rises or falls
    double worst = 0.0;   ///< the slowest of these seconds, except the first after each change
};

/// Figure 10: two links of 50 Mbit/s and 10 ms. The round trip of one rises to 2 s and falls again, then that of the
/// other. Most of the paper's time before and after the ramps is left out.
Ramps ramps(const std::string& scheduler) {
    PaperRig rig(scheduled(
        scheduler, {{.bits_per_second = 50'000'000, .delay = 5ms}, {.bits_per_second = 50'000'000, .delay = 5ms}}));
    rig.ramp(1, 5s, 15s, 1000ms);
    rig.ramp(1, 15s, 25s, 5ms);
    rig.ramp(0, 30s, 40s, 1000ms);
    rig.ramp(0, 40s, 50s, 5ms);
    rig.run(55s);
    Ramps out{.within = (rig.mbps(5, 25) + rig.mbps(30, 50)) / 2.0, .worst = 1e9};
    out.mean = 0.4 * out.within + 0.6 * (rig.mbps(0, 5) + rig.mbps(25, 30) + rig.mbps(50, 55)) / 3.0;
    for (const std::size_t from : {5U, 15U, 30U, 40U}) {
        for (std::size_t s = from + 1; s < from + 10; ++s) out.worst = std::min(out.worst, rig.mbps(s, s + 1));
    }
    return out;
}

}  // namespace

TEST_CASE("print the path blocking experiments", "[.table]") {
    std::printf("one link alone: %.1f\n", alone(100));
    for (const char* scheduler : {"rr", "minrtt", "dapb", "eds"}) {
        std::printf("%-6s fig. 8, 100 80 50 20 10 Mbit/s:", scheduler);
        for (const int mbps : {100, 80, 50, 20, 10}) std::printf(" %.1f", beside_rate(scheduler, mbps));
        std::printf("; fig. 9, 10 20 40 50 80 100 ms:");
        for (const int ms : {10, 20, 40, 50, 80, 100})
            std::printf(" %.1f", beside(scheduler, std::chrono::milliseconds(ms)));
        const Ramps r = ramps(scheduler);
        std::printf("; fig. 10: mean %.1f, in the ramps %.1f, worst second %.1f\n", r.mean, r.within, r.worst);
        std::fflush(stdout);
    }
}

// Figure 9. The paper has 27.5 Mbit/s for round robin from 80 ms on, and the rate of a single path at 50 ms. Lowest RTT
// is below the single path there.
TEST_CASE("path blocking: from 80 ms on round robin and lowest RTT fall below one line, path blocking does not") {
    const double single = alone(100);
    CAPTURE(single);
    CHECK(beside("rr", 80ms) < 0.8 * single);
    CHECK(beside("minrtt", 80ms) < 0.8 * single);
    CHECK(beside("dapb", 80ms) > 0.98 * single);
    CHECK(beside("eds", 80ms) > 0.96 * single);
}

TEST_CASE("path blocking: near lines add up under each scheduler") {
    const double single = alone(100);
    for (const char* scheduler : {"rr", "minrtt", "dapb", "eds"}) {
        CAPTURE(scheduler, single);
        CHECK(beside(scheduler, 10ms) > 1.85 * single);
        CHECK(beside_rate(scheduler, 50) > 1.3 * single);  // figure 8
    }
}

// Figure 10: 58.0, 64.6 and 68.7 Mbit/s in the paper. Our results of round robin and lowest RTT are alike, because the
// receive buffer limits them: an ACK that opens a window leaves no choice of paths.
TEST_CASE("path blocking: ramps of a second's delay cost round robin and lowest RTT more than path blocking") {
    const Ramps rr = ramps("rr");
    const Ramps minrtt = ramps("minrtt");
    const Ramps dapb = ramps("dapb");
    CAPTURE(rr.mean, minrtt.mean, dapb.mean, dapb.within);
    CHECK(minrtt.mean > 0.97 * rr.mean);
    CHECK(dapb.mean > 1.15 * minrtt.mean);
    CHECK(dapb.mean > 72.0);
    CHECK(dapb.within > 0.95 * alone(50));
    CHECK(rr.within < 0.5 * alone(50));
}

TEST_CASE("path blocking: the default is never below one line in the ramps, and as good as path blocking") {
    const Ramps ours = ramps("eds");
    CAPTURE(ours.mean, ours.within, ours.worst);
    CHECK(ours.mean > 73.0);
    CHECK(ours.within > 0.97 * alone(50));
    CHECK(ours.worst > 0.9 * alone(50));
}
