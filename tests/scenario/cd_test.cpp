// The claims of the congestion-degree paper (its figures 3, 7, 8 and 9) in both forms of its equations: as in UDT 4.11
// and as printed. bench/papers has the experiment in ns-3, docs/lab/paper-congestion.md has the figures.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/flows.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

constexpr CrossTraffic kCross{.bits_per_second = 50'000'000, .from = 5s, .on = 2s, .off = 1s};
constexpr std::uint64_t kPacket = 1500;

/// 100 Mbit/s; a sender's link has the bottleneck's rate, which spaces the packet pairs. Flows start 5 s apart.
struct Cell {
    Duration rtt = 60ms;
    std::uint64_t queue_packets = 2500;
    double queue_bdp = 0.0;  ///< in place of queue_packets when not 0
    std::size_t flows = 1;
    bool cross = true;
    std::string what{};
};

FlowRigSetup papers_line(const Cell& cell, const std::string& cc, bool printed, std::uint64_t seed) {
    FlowRigSetup setup{.name = cc + " on the paper's line",
                       .seed = seed,
                       .bits_per_second = 100'000'000,
                       .rtt = cell.rtt,
                       .queue_bdp = cell.queue_bdp,
                       .queue_bytes = cell.queue_bdp > 0.0 ? 0 : cell.queue_packets * kPacket,
                       .access_bits_per_second = 100'000'000,
                       .flows = {}};
    for (std::size_t i = 0; i < cell.flows; ++i) {
        // Seeds shift the start times, because handshakes differ in nothing else.
        const Duration shift = std::chrono::milliseconds((seed * 7 + i * 3) % 10);
        setup.flows.push_back(
            {.cc = cc, .start = 5s * static_cast<std::int64_t>(i) + shift, .experiment = {.udt_as_printed = printed}});
    }
    if (cell.cross) setup.cross = kCross;
    return setup;
}

/// Median MTR in Mbit/s while the cross traffic is on. It excludes the first half second of each burst, in which the
/// round trip passes and the queue fills.
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

/// The figures of one controller in a cell, as means over seeds.
struct Figures {
    double mbps = 0.0;       ///< from 5 s on
    double lost = 0.0;       ///< packets, from 10 s on, as slow start is the same for all
    double jain = 0.0;       ///< mean over the seconds from 10 to 30 s
    double deviation = 0.0;  ///< mean |x - fair| / fair over the same seconds
};

double lost_packets(const FlowRig& rig, Duration from) {
    const auto total = [&rig](std::size_t sample) {
        double sum = 0.0;
        for (const FlowSample& flow : rig.samples().at(sample).flows) sum += static_cast<double>(flow.lost_packets);
        return sum;
    };
    return total(rig.samples().size() - 1) - total(static_cast<std::size_t>(from / FlowRig::kSample));
}

/// Jain's index and deviation of the flows that have started, over one second.
std::pair<double, double> jain_and_deviation(const FlowRig& rig, Duration from) {
    std::vector<double> rates;
    for (std::size_t i = 0; i < rig.flow_count(); ++i) {
        if (rig.setup().flows[i].start + 20ms < from) rates.push_back(rig.goodput(i, from, from + 1s).bps());
    }
    double sum = 0.0;
    double squares = 0.0;
    for (const double rate : rates) {
        sum += rate;
        squares += rate * rate;
    }
    const auto n = static_cast<double>(rates.size());
    double off = 0.0;
    for (const double rate : rates) off += std::abs(rate - sum / n) / sum;
    return {sum * sum / (n * squares), off};
}

Figures measure(const Cell& cell, const std::string& cc, bool printed, std::uint64_t seeds) {
    Figures mean;
    const auto part = 1.0 / static_cast<double>(some_seeds(seeds).size());
    for (const std::uint64_t seed : some_seeds(seeds)) {
        FlowRig rig(papers_line(cell, cc, printed, seed));
        rig.run_for(30s);
        mean.mbps += part * rig.goodput(5s, 30s).bps() / 1e6;
        mean.lost += part * lost_packets(rig, 10s);
        for (int second = 10; second < 30; ++second) {
            const auto [jain, deviation] = jain_and_deviation(rig, std::chrono::seconds(second));
            mean.jain += part * jain / 20.0;
            mean.deviation += part * deviation / 20.0;
        }
    }
    return mean;
}

/// The cells of bench/papers/cells.py.
std::vector<Cell> papers_cells() {
    struct Queue {
        std::string name;
        std::uint64_t packets = 0;
        double bdp = 0.0;
    };
    const std::vector<Queue> queues{
        {"2500p", 2500}, {"8300p", 8300}, {"1 BDP", 0, 1.0}, {"2 BDP", 0, 2.0}, {"5 BDP", 0, 5.0}};
    std::vector<Cell> cells;
    const auto add = [&](int delay_ms, std::size_t flows, bool cross) {
        for (const Queue& queue : queues) {
            cells.push_back({.rtt = std::chrono::milliseconds(2 * (10 + delay_ms)),
                             .queue_packets = queue.packets,
                             .queue_bdp = queue.bdp,
                             .flows = flows,
                             .cross = cross,
                             .what = std::to_string(flows) + " | " + std::to_string(delay_ms) + " ms | " + queue.name +
                                     " | " + (cross ? "on/off" : "none")});
        }
    };
    for (const int delay : {60, 10, 50}) add(delay, 1, true);
    for (const int delay : {50, 100}) {
        add(delay, 3, true);
        add(delay, 3, false);
    }
    return cells;
}

/// The paper's claims about `cd` compared with `udt`, counted over cells.
struct Claims {
    int less = 0;
    int same = 0;
    int more = 0;
    int equal = 0;  ///< single flows with a difference of at most 3 %
    int singles = 0;
    int fairer = 0;
    int shared = 0;
    double most = 0.0;  ///< largest ratio of the deviation of `udt` to that of `cd`
};

void count(Claims& claims, const Cell& cell, const Figures& udt, const Figures& cd) {
    if (cd.lost < udt.lost) ++claims.less;
    if (cd.lost == udt.lost) ++claims.same;
    if (cd.lost > udt.lost) ++claims.more;
    if (cell.flows == 1) {
        ++claims.singles;
        if (std::abs(cd.mbps / udt.mbps - 1.0) <= 0.03) ++claims.equal;
        return;
    }
    ++claims.shared;
    if (cd.jain > udt.jain) ++claims.fairer;
    claims.most = std::max(claims.most, udt.deviation / cd.deviation);
}

}  // namespace

TEST_CASE("print both forms of udt and cd of docs/lab/paper-congestion.md", "[.table]") {
    std::array<Claims, 2> claims;
    for (const Cell& cell : papers_cells()) {
        std::printf("| %s |", cell.what.c_str());
        for (const bool printed : {false, true}) {
            const Figures udt = measure(cell, "udt", printed, 2);
            const Figures cd = measure(cell, "cd", printed, 2);
            count(claims[printed ? 1 : 0], cell, udt, cd);
            std::printf(" %.0f / %.0f | %.1f / %.1f |", udt.lost, cd.lost, udt.mbps, cd.mbps);
            if (cell.flows > 1) {
                std::printf(" %.3f / %.3f | %.2f |", udt.jain, cd.jain, udt.deviation / cd.deviation);
            } else {
                std::printf(" - | - |");
            }
        }
        std::printf("\n");
        std::fflush(stdout);
    }
    for (const bool printed : {false, true}) {
        const Claims& c = claims[printed ? 1 : 0];
        std::printf(
            "%s: cd loses less in %d, as much in %d, more in %d; equal in %d of %d; Jain higher in %d of %d; "
            "ratio at most %.2f\n",
            printed ? "printed" : "4.11", c.less, c.same, c.more, c.equal, c.singles, c.fairer, c.shared, c.most);
    }
}

TEST_CASE("cd: the MTR follows cross traffic of half the line, UDT's stays above") {
    for (const std::uint64_t seed : some_seeds(2)) {
        const Cell cell;  // 60 ms, 0.3 s of queue
        FlowRig udt(papers_line(cell, "udt", false, seed));
        FlowRig cd(papers_line(cell, "cd", false, seed));
        udt.run_for(30s);
        cd.run_for(30s);
        INFO(udt.table(5s, 30s) << cd.table(5s, 30s));
        CHECK(median_mtr(cd) == Approx(50.0).epsilon(0.2));
        CHECK(median_mtr(udt) > 60.0);
        // Figure 8: a single flow has the same throughput.
        CHECK(cd.goodput(0, 5s, 30s).bps() >= 0.97 * udt.goodput(0, 5s, 30s).bps());
    }
}

// With the paper's printed equations, the lower loss and the equal throughput are reproduced. Its fairness is not
// (figure 9 has +117 % at 100 ms, a ratio of 2.17). docs/lab/paper-congestion.md has all cells.
TEST_CASE("cd as printed: three flows under cross traffic lose fewer packets, and share no worse") {
    const Cell cell{.rtt = 220ms, .flows = 3};
    const Figures udt = measure(cell, "udt", true, 2);
    const Figures cd = measure(cell, "cd", true, 2);
    CAPTURE(udt.lost, cd.lost, udt.jain, cd.jain, udt.deviation / cd.deviation, udt.mbps, cd.mbps);
    CHECK(cd.lost < 0.92 * udt.lost);
    CHECK(cd.jain > udt.jain - 0.02);
    CHECK(udt.deviation > 0.95 * cd.deviation);
    CHECK(cd.mbps > 0.96 * udt.mbps);
}

TEST_CASE("cd as printed: a single flow is as fast as under udt") {
    for (const Duration rtt : {40ms, 120ms}) {  // figure 8
        const Cell cell{.rtt = rtt};
        CAPTURE(to_seconds(rtt));
        CHECK(measure(cell, "cd", true, 1).mbps == Approx(measure(cell, "udt", true, 1).mbps).epsilon(0.03));
    }
}
