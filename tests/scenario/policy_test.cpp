// The promises of the policies, in the whole protocol.
#include "sim/flows.hpp"
#include "sim/scenario.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

FlowSpec with(Policy policy, const std::string& cc = "cubic", Duration start = {}) {
    FlowSpec flow{.cc = cc, .start = start};
    flow.config.policy = policy;
    return flow;
}

/// Goodput of CUBIC on a 40 Mbit/s link of 100 ms, alone or beside `others`. It is the mean of several runs, because
/// CUBIC settles into one of two cycles.
double cubic_goodput(double queue_bdp, const std::vector<FlowSpec>& others, Duration start) {
    double sum = 0.0;
    const auto seeds = some_seeds(4);
    for (const std::uint64_t seed : seeds) {
        FlowRigSetup setup{.name = "cubic and low",
                           .seed = seed,
                           .bits_per_second = 40'000'000,
                           .rtt = 100ms,
                           .queue_bdp = queue_bdp,
                           .flows = {{.cc = "cubic", .start = start}}};
        setup.flows.insert(setup.flows.end(), others.begin(), others.end());
        FlowRig rig(setup);
        rig.run_for(60s);
        UNSCOPED_INFO(rig.table(20s, 60s));
        sum += rig.goodput(0, 20s, 60s).bps();
    }
    return sum / static_cast<double>(seeds.size());
}

}  // namespace

TEST_CASE("low: CUBIC keeps nine tenths of what it has alone, whoever comes first, in shallow and deep queues",
          "[whole]") {
    UDTX_WHOLE_ONLY();
    for (const double queue : {0.1, 1.0, 8.0}) {
        if (size_scale() < 1.0 && queue > 0.1) continue;
        const double alone = cubic_goodput(queue, {}, 0s);
        INFO("queue " << queue);
        CHECK(cubic_goodput(queue, {with(Policy::low, "cubic", 10s)}, 0s) >= 0.9 * alone);
        CHECK(cubic_goodput(queue, {with(Policy::low)}, 5s) >= 0.9 * alone);
    }
}

TEST_CASE("low: a fair udtx keeps nine tenths of the line, whoever comes first, and what it leaves is taken up",
          "[whole]") {
    UDTX_WHOLE_ONLY();
    for (const Duration rtt : {20ms, 50ms, 200ms}) {
        if (size_scale() < 1.0 && rtt > 50ms) continue;
        for (const bool low_first : {false, true}) {
            FlowSpec low = with(Policy::low, "udtx", low_first ? 0s : 5s);
            FlowSpec fair{.cc = "udtx", .start = low_first ? 5s : 0s};
            FlowRig rig({.name = "udtx and low",
                         .bits_per_second = 50'000'000,
                         .rtt = rtt,
                         .queue_bdp = 8.0,
                         .flows = {fair, low}});
            rig.run_for(60s);
            INFO(rig.table(20s, 60s));
            CHECK(rig.goodput(0, 20s, 60s).bps() > 0.9 * 0.95 * 50e6);
        }
    }
    FlowSpec fair{.cc = "udtx", .bytes = 100'000'000};  // takes about 17 s
    FlowRig rig(
        {.name = "udtx, then low", .bits_per_second = 50'000'000, .rtt = 50ms, .flows = {fair, with(Policy::low)}});
    rig.run_for(35s);
    INFO(rig.table(30s, 35s));
    CHECK(rig.goodput(1, 30s, 35s).bps() > 0.8 * 50e6);
}

TEST_CASE("low: half a line that others leave is used, and jitter with random loss is no company") {
    const CrossTraffic half{.bits_per_second = 50'000'000, .from = 5s, .off = 0s};
    FlowRig beside({.name = "low and half a line", .rtt = 50ms, .flows = {with(Policy::low)}, .cross = half});
    beside.run_for(30s);
    INFO(beside.table(15s, 30s));
    CHECK(beside.goodput(0, 15s, 30s).bps() > 0.7 * 50e6);

    FlowRig jitter({.name = "low and jitter", .rtt = 50ms, .loss = 0.001, .jitter = 5ms, .flows = {with(Policy::low)}});
    jitter.run_for(90s);  // two trials, if the flow assumes competition
    INFO(jitter.table(10s, 90s));
    CHECK(jitter.goodput(0, 10s, 90s).bps() > 0.75 * 100e6);
}

TEST_CASE("low: alone it uses the line, under random loss and jitter too") {
    struct Line {
        std::uint64_t mbps = 40;
        double loss = 0.0;
        Duration jitter{};
    };
    for (const Line& on :
         {Line{}, Line{.loss = 0.01}, Line{.mbps = 500, .jitter = 2ms}, Line{.mbps = 500, .jitter = 5ms}}) {
        FlowRig rig({.name = "low alone",
                     .bits_per_second = on.mbps * 1'000'000,
                     .rtt = 50ms,
                     .loss = on.loss,
                     .jitter = on.jitter,
                     .flows = {with(Policy::low)}});
        rig.run_for(30s);
        INFO(rig.table(10s, 30s));
        CHECK(rig.utilisation(10s, 30s) > 0.75);
        CHECK(rig.queue_delay(10s, 30s).mean < 8ms);
    }
}

TEST_CASE("high: more than one flow's share beside a flow of its kind, and not everything", "[whole]") {
    UDTX_WHOLE_ONLY();
    for (const std::string cc : {"cubic", "bbr"}) {
        std::vector<double> shares;
        for (const std::uint64_t seed : some_seeds(5)) {
            FlowRig rig({.name = "high " + cc,
                         .seed = seed,
                         .bits_per_second = 40'000'000,
                         .rtt = 40ms,
                         .flows = {with(Policy::high, cc), with(Policy::fair, cc)}});
            rig.run_for(90s);
            UNSCOPED_INFO(rig.table(30s, 90s));
            shares.push_back(rig.goodput(0, 30s, 90s).bps() / rig.goodput(30s, 90s).bps());
        }
        if (size_scale() >= 1.0) CHECK(spread(shares).median > 0.55);
        CHECK(spread(shares).least > 0.45);
        CHECK(spread(shares).most < 0.95);
    }
}

TEST_CASE("fixed: the rate is held beside CUBIC and through loss") {
    FlowSpec fixed = with(Policy::fixed);
    fixed.config.max_rate = Rate::bits_per_second(20e6);
    FlowRig rig(
        {.name = "fixed", .bits_per_second = 40'000'000, .rtt = 50ms, .loss = 0.02, .flows = {fixed, {.cc = "cubic"}}});
    rig.run_for(20s);
    INFO(rig.table(5s, 20s));
    // 2 % of the sent bytes are lost, and up to 5 % are headers, tags and acknowledgements.
    CHECK(rig.goodput(0, 5s, 20s).bps() > 0.93 * 0.98 * 20e6);
    CHECK(rig.goodput(0, 5s, 20s).bps() < 20e6);
}

TEST_CASE("min-rate: a floor beside a greedy flow, and no cap") {
    FlowSpec floor{.cc = "cubic"};
    floor.config.min_rate = Rate::bits_per_second(5e6);
    FlowRig rig({.name = "floor", .bits_per_second = 40'000'000, .rtt = 100ms, .loss = 0.02, .flows = {floor}});
    rig.run_for(20s);
    INFO(rig.table(5s, 20s));
    CHECK(rig.goodput(0, 5s, 20s).bps() > 0.93 * 0.98 * 5e6);  // CUBIC alone would reach one
    FlowRig clean({.name = "no cap", .bits_per_second = 40'000'000, .rtt = 100ms, .flows = {floor}});
    clean.run_for(20s);
    INFO(clean.table(5s, 20s));
    CHECK(clean.utilisation(5s, 20s) > 0.95);
}

TEST_CASE("the receiver's rate bounds the sender, fixed or not, with or without a cap of its own") {
    for (const Policy policy : {Policy::fair, Policy::fixed}) {
        FlowSpec flow = with(policy, "cubic");
        flow.config.max_rate = Rate::bits_per_second(30e6);
        flow.config.max_receive_rate = Rate::bits_per_second(10e6);  // both ends of the rig have the same limit
        FlowRig rig({.name = "receiver's rate", .bits_per_second = 100'000'000, .rtt = 20ms, .flows = {flow}});
        rig.run_for(6s);
        INFO(rig.table(2s, 6s));
        CHECK(rig.goodput(0, 2s, 6s).bps() < 10e6);
        CHECK(rig.goodput(0, 2s, 6s).bps() > 9.3e6);
    }
}
