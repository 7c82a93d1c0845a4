// The rig itself: its link, its measurements, its cross traffic. Other tests use it to test the controllers.
#include "sim/flows.hpp"

#include <cmath>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::sim;

namespace {

FlowSpec capped(double bits_per_second, Duration start = {}, Duration rtt = {}) {
    FlowSpec flow{.start = start, .rtt = rtt};
    flow.config.max_rate = Rate::bits_per_second(bits_per_second);
    return flow;
}

}  // namespace

TEST_CASE("flow rig: flows below the line's rate keep their own rates, and the figures say so") {
    FlowRig rig({.name = "capped", .rtt = 20ms, .flows = {capped(30e6), capped(10e6, 2s, 60ms)}});
    rig.run_for(8s);
    INFO(rig.table(4s, 8s));
    // The caps include IP and UDP headers; the protocol's headers and tags take less than 5 % of the link's bytes.
    CHECK(rig.goodput(0, 4s, 8s).bps() > 28.5e6);
    CHECK(rig.goodput(0, 4s, 8s).bps() < 30e6);
    CHECK(rig.goodput(1, 4s, 8s).bps() > 9.5e6);
    CHECK(rig.goodput(1, 4s, 8s).bps() < 10e6);
    CHECK(rig.goodput(1, 0s, 2s).is_zero());
    CHECK(rig.utilisation(4s, 8s) == Approx(0.4).epsilon(0.005));
    CHECK(rig.jain(4s, 8s) == Approx(16.0 / 20.0).epsilon(0.01));  // (3 + 1)^2 / (2 (9 + 1))
    CHECK(rig.jain(0s, 2s) == Approx(1.0));                        // the second flow does not count yet
    CHECK(rig.loss(0, 4s, 8s) == 0.0);
    CHECK(rig.drops(4s, 8s) == 0.0);
    CHECK(rig.queue_delay(4s, 8s).max < 2ms);
    CHECK(rig.samples().back().flows[0].smoothed_rtt > 20ms);
    CHECK(rig.samples().back().flows[1].smoothed_rtt > 60ms);
}

TEST_CASE("flow rig: cross traffic takes its part of the line while it is on") {
    FlowRig rig({.name = "cross",
                 .rtt = 20ms,
                 .flows = {capped(1e6)},
                 .cross = {.bits_per_second = 50'000'000, .from = 2s, .on = 2s, .off = 1s}});
    rig.run_for(8s);
    INFO(rig.table(0s, 8s));
    CHECK(rig.utilisation(0s, 2s) < 0.02);
    CHECK(rig.utilisation(2s, 4s) == Approx(0.51).epsilon(0.01));
    CHECK(rig.utilisation(4s + 10ms, 5s) < 0.02);
    CHECK(rig.utilisation(5s, 7s) == Approx(0.51).epsilon(0.01));
}

TEST_CASE("flow rig: a flow with a size completes, a flow with a stop ends") {
    FlowSpec sized{.bytes = 1'000'000};
    FlowSpec stopped = capped(10e6);
    stopped.stop = 3s;
    FlowRig rig({.name = "ends", .rtt = 20ms, .flows = {sized, stopped}});
    rig.run_for(6s);
    REQUIRE(rig.completed(0));
    CHECK(*rig.completed(0) > 80ms);  // the time to serialise a megabyte on the link
    CHECK(*rig.completed(0) < 2s);
    CHECK_FALSE(rig.completed(1));
    CHECK(rig.goodput(1, 4s, 6s).is_zero());
    CHECK(rig.connection(1) == nullptr);
}

TEST_CASE("flow rig: random loss is what the senders see") {
    FlowRig rig({.name = "loss", .rtt = 20ms, .loss = 0.02, .flows = {capped(20e6)}});
    rig.run_for(20s);
    INFO(rig.table(2s, 20s));
    // Three standard deviations of a binomial count. The controller sends at least 2,000 packets.
    const auto& last = rig.samples().back().flows[0];
    REQUIRE(last.sent_packets > 2000);
    const double three_sigma = 3 * std::sqrt(0.02 * 0.98 / static_cast<double>(last.sent_packets));
    CHECK(rig.loss(0, 0s, 20s) == Approx(0.02).margin(three_sigma));
    CHECK(rig.drops(0s, 20s) == 0.0);
}

TEST_CASE("flow rig: the same seed gives the same samples, another seed others") {
    const auto received = [](std::uint64_t seed) {
        FlowRig rig({.name = "repeat", .seed = seed, .rtt = 30ms, .loss = 0.01, .flows = {{}, {.start = 1s}}});
        rig.run_for(4s);
        std::vector<std::uint64_t> all;
        for (const RigSample& s : rig.samples())
            for (const FlowSample& f : s.flows) all.insert(all.end(), {f.received, f.sent_packets, f.window});
        return all;
    };
    const auto first = received(5);
    CHECK(first == received(5));
    CHECK(first != received(6));
}
