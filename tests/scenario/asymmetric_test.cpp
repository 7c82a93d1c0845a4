// Return links that are 100 to 12,500 times slower than the forward link (docs/inside/acknowledgements.md).
#include "sim/check.hpp"
#include "sim/flows.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

struct Figures {
    double used = 0.0;      ///< used part of the link
    double back_bps = 0.0;  ///< of acknowledgements, headers included
    Duration queue_back{};  ///< mean
};

Figures over(ReturnLine back, const char* cc = "udtx", Duration from = 12s, Duration to = 30s) {
    FlowRig rig({.name = "asymmetric", .rtt = 100ms, .flows = {{.cc = cc}}, .back = back});
    rig.run_for(from);
    const LinkCounters before = rig.return_line().counters();
    rig.run_for(to - from);
    const LinkCounters& after = rig.return_line().counters();
    const double seconds = to_seconds(to - from);
    UNSCOPED_INFO(rig.table(from, to));
    const auto bytes = static_cast<double>(after.sent_bytes - before.sent_bytes + 28 * (after.sent - before.sent));
    const double queue = (after.queue_byte_seconds - before.queue_byte_seconds) / seconds;
    return {.used = rig.utilisation(from, to),
            .back_bps = bytes * 8.0 / seconds,
            .queue_back = from_seconds(queue * 8.0 / static_cast<double>(back.bits_per_second))};
}

}  // namespace

TEST_CASE("asymmetric: 64 kbit/s back for 100 Mbit/s", "[whole]") {
    UDTX_WHOLE_ONLY();
    const Figures f = over({.bits_per_second = 64'000});
    CHECK(f.used > 0.97);
    CHECK(f.back_bps < 0.85 * 64'000);
    CHECK(f.queue_back < 50ms);
}

TEST_CASE("asymmetric: 16 kbit/s back for 100 Mbit/s", "[whole]") {
    UDTX_WHOLE_ONLY();
    const Figures f = over({.bits_per_second = 16'000});
    CHECK(f.used > 0.95);
    CHECK(f.back_bps < 0.85 * 16'000);
    CHECK(f.queue_back < 200ms);
}

TEST_CASE("asymmetric: 8 kbit/s back for 100 Mbit/s") {
    const Figures f = over({.bits_per_second = 8'000});
    CHECK(f.used > 0.80);
    CHECK(f.back_bps < 0.90 * 8'000);
}

TEST_CASE("asymmetric: 64 kbit/s back with every fifth acknowledgement lost") {
    CHECK(over({.bits_per_second = 64'000, .loss = 0.2}).used > 0.94);
}

TEST_CASE("asymmetric: what was learned of a narrow way back ends with a sender that moves to another network") {
    const LinkParams line{.bits_per_second = 20'000'000, .delay = 25ms, .queue_bytes = 125'000};
    ScenarioSetup setup = symmetric("moves", line);
    setup.down.bits_per_second = 16'000;
    Scenario s(setup);
    const Bulk bulk = start_bulk(s, {.bytes = 1ULL << 40U});
    const auto acks_per_second = [&s](Duration time) {
        const std::uint64_t before = s.down().counters().sent;
        s.run_for(time);
        return static_cast<double>(s.down().counters().sent - before) / to_seconds(time);
    };
    s.run_for(15s);
    SIM_CHECK(s, acks_per_second(3s) < 25);
    s.network().rebind(s.client().node(), make_address(3, 40001));
    s.down().change([](LinkParams& p) { p.bits_per_second = 20'000'000; });
    s.run_for(2s);
    SIM_CHECK(s, acks_per_second(2s) > 60);
}

// While the controller paces below the rate of the link, only bursts can fill the queue. One ACK each 80 ms
// acknowledges most of a window.
TEST_CASE("asymmetric: no burst leaves after a stretch ACK") {
    const char* cc = GENERATE("lia", "cubic");
    constexpr double kLine = 200e6;
    FlowRig rig({.name = "stretch",
                 .bits_per_second = static_cast<std::uint64_t>(kLine),
                 .rtt = 100ms,
                 .flows = {{.cc = cc}},
                 .back = {.bits_per_second = 16'000}});
    rig.run_for(20s);
    INFO(rig.table(5s, 20s));
    Duration roomy{};
    std::uint64_t most_released = 0;
    std::uint64_t most_queued = 0;
    std::uint64_t before = 0;
    for (const RigSample& sample : rig.samples()) {
        const FlowSample& flow = sample.flows[0];
        roomy = flow.pacing_bps < 0.9 * kLine ? roomy + FlowRig::kSample : Duration::zero();
        if (roomy > 300ms) {
            most_queued = std::max(most_queued, sample.queue_bytes);
            if (before > flow.in_flight) most_released = std::max(most_released, before - flow.in_flight);
        }
        before = flow.in_flight;
    }
    CHECK(most_released > 200'000);
    CHECK(most_queued < 30'000);
}

namespace {

/// Used part of the link after the window has grown for a long time, with one ACK each 80 ms.
double grown(const char* cc, bool regenerate) {
    std::vector<double> used;
    for (const std::uint64_t seed : some_seeds(5)) {
        FlowRig rig({.name = "growth",
                     .seed = seed,
                     .rtt = 100ms,
                     .flows = {{.cc = cc, .experiment = {.regenerate_acks = regenerate}}},
                     .back = {.bits_per_second = 16'000}});
        rig.run_for(40s);
        used.push_back(rig.utilisation(15s, 40s));
    }
    return spread(used).median;
}

}  // namespace

TEST_CASE("asymmetric: a window of lia grows more when it is told packet by packet") {
    const double at_16k = grown("lia", true);
    CHECK(at_16k > 0.95);
    CHECK(at_16k > 1.08 * grown("lia", false));  // 0.66 to 0.88 without regeneration
}

TEST_CASE("asymmetric: a window of cubic grows no less when it is told packet by packet") {
    const double at_16k = grown("cubic", true);
    CHECK(at_16k > 0.95);
    CHECK(at_16k > 0.99 * grown("cubic", false));
}

// The first acknowledgement arrives seconds after the first flight. Timeouts of that flight carry no information about
// the window.
TEST_CASE("asymmetric: a window begins with slow start at 8 kbit/s, too") {
    const char* cc = GENERATE("lia", "cubic");
    // 0.004 and 0.50 if these timeouts set the threshold
    CHECK(over({.bits_per_second = 8'000}, cc, 15s, 40s).used > 0.60);
}

// Two runs have equal figures to the last packet, even at the end of slow start and while a window is full.
TEST_CASE("asymmetric: where ACKs are not sparse nothing is told later") {
    const char* cc = GENERATE("lia", "cubic");
    const auto line = GENERATE(table<std::uint64_t, Duration>({{100'000'000, 100ms}, {5'000'000, 200ms}}));
    CAPTURE(cc, std::get<0>(line));
    std::string tables[2];
    for (const bool regenerate : {true, false}) {
        FlowRig rig({.name = "symmetric",
                     .bits_per_second = std::get<0>(line),
                     .rtt = std::get<1>(line),
                     .flows = {{.cc = cc, .experiment = {.regenerate_acks = regenerate}}}});
        rig.run_for(14s);
        tables[regenerate ? 1 : 0] = rig.table(1s, 14s);
    }
    CHECK(tables[0] == tables[1]);
}

TEST_CASE("asymmetric: a way back as wide as the way out changes nothing") {
    const Figures f = over({.bits_per_second = 100'000'000}, "udtx", 5s, 10s);
    CHECK(f.used > 0.99);
    CHECK(f.back_bps > 100'000);  // one acknowledgement per 64 packets
}
