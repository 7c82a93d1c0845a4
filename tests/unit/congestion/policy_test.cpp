#include "congestion/policy.hpp"

#include <string>

#include "congestion/scavenger.hpp"
#include "test/catch.hpp"
#include "unit/congestion/bottleneck.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

Rate mbps(double v) { return Rate::bits_per_second(v * 1e6); }

/// Records its inputs, and returns the values that the test sets.
class Recorder final : public CongestionController {
  public:
    void on_sent(const CongestionSent& packet) override { sent = packet; }
    void on_feedback(const CongestionFeedback& feedback) override { heard = feedback; }
    void on_limits(const PathLimits& limits) override { told = limits; }
    [[nodiscard]] std::uint64_t window() const override { return window_bytes; }
    [[nodiscard]] Rate pacing_rate() const override { return pace; }
    [[nodiscard]] std::uint32_t probe_packets() const override { return 7; }
    [[nodiscard]] CongestionReport report() const override { return {.mtr = mbps(50), .available = {}}; }

    std::uint64_t window_bytes = 10'000;
    Rate pace = mbps(10);
    CongestionSent sent;
    CongestionFeedback heard;
    PathLimits told;
};

struct Fixture {
    explicit Fixture(const CongestionOptions& options) {
        auto made = std::make_unique<Recorder>();
        inner = made.get();
        outer = apply_policy(std::move(made), options);
    }
    Recorder* inner = nullptr;
    std::unique_ptr<CongestionController> outer;
};

CongestionFeedback some_feedback() {
    CongestionFeedback f;
    f.smoothed_rtt = 100ms;
    f.rtt_variance = 5ms;
    f.acked_bytes = 6000;
    f.acked_packets = 5;
    f.in_flight_before = 40'000;
    f.in_flight_after = 34'000;
    f.lost = {{4, 1200, {}}, {5, 1200, {}}, {6, 1200, {}}};
    f.delivery = DeliverySample{.rate = mbps(20), .interval = 100ms};
    f.line = LineEstimate{.pair_capacity = mbps(48), .newest_pair = mbps(48), .arrival_pps = 2000};
    return f;
}

/// The bytes/s that `controller` delivers over an ideal path in the last half of `time`.
double goodput(Bottleneck& path, Duration time) {
    path.run(time / 2);
    const std::uint64_t before = path.delivered();
    path.run(time / 2);
    return static_cast<double>(path.delivered() - before) / to_seconds(time / 2);
}

}  // namespace

TEST_CASE("policy: fair without a floor leaves the controller as it is") {
    Fixture f({});
    CHECK(f.outer.get() == f.inner);
}

TEST_CASE("policy: a floor holds rate and window up, and only up") {
    Fixture f({.min_rate = mbps(40)});
    f.outer->on_feedback(some_feedback());
    CHECK(f.outer->pacing_rate() == mbps(40));
    // 5 MB/s for two round trips, four RTT variances and two SYNs, plus 16 datagrams of 1,200 bytes.
    CHECK(f.outer->window() == 5'000'000 * 24 / 100 + 16 * 1200);
    f.inner->pace = mbps(90);
    f.inner->window_bytes = 9'000'000;
    CHECK(f.outer->pacing_rate() == mbps(90));
    CHECK(f.outer->window() == 9'000'000);
    CHECK(f.outer->probe_packets() == 7);
    CHECK(f.outer->report().mtr == mbps(50));
    f.outer->on_limits({.datagram_bytes = 9000, .min_rate = mbps(40)});
    CHECK(f.inner->told.datagram_bytes == 9000);
    f.inner->window_bytes = 0;
    CHECK(f.outer->window() == 5'000'000 * 24 / 100 + 16 * 9000);
    f.outer->on_limits({.min_rate = mbps(20)});
    CHECK(f.outer->window() == 2'500'000 * 24 / 100 + 16 * 1200);
}

TEST_CASE("policy: fixed holds the rate, whatever the controller says, and follows a new cap") {
    Fixture f({.max_rate = mbps(40), .policy = Policy::fixed});
    CHECK(f.outer->pacing_rate() == mbps(40));
    f.inner->pace = mbps(900);
    f.inner->window_bytes = 1;
    f.outer->on_feedback(some_feedback());
    CHECK(f.outer->pacing_rate() == mbps(40));
    CHECK(f.outer->window() > 5'000'000 / 5);
    f.outer->on_limits({.max_rate = mbps(20)});
    CHECK(f.outer->pacing_rate() == mbps(20));
    CHECK(f.inner->told.max_rate == mbps(20));
    f.outer->on_limits({.min_rate = mbps(90)});  // without a cap it keeps its rate
    CHECK(f.outer->pacing_rate() == mbps(20));
}

TEST_CASE("policy: fixed sustains its rate through loss that any controller would give way to") {
    const auto made =
        make_congestion_controller("cubic", {.datagram_bytes = 1000, .max_rate = mbps(40), .policy = Policy::fixed});
    REQUIRE(made.ok());
    Bottleneck path(*made.value(), 10'000, 50ms, 1000);
    path.lose_every(10);
    CHECK(goodput(path, 10s) == Approx(0.9 * 5e6).epsilon(0.02));
}

TEST_CASE("policy: high tells its controller of a half and asks for twice what it says") {
    Fixture f({.policy = Policy::high});
    CHECK(f.outer->window() == 20'000);
    CHECK(f.outer->pacing_rate() == mbps(20));
    f.outer->on_sent({.now = {}, .number = 9, .bytes = 1200, .in_flight_before = 40'000});
    CHECK(f.inner->sent.number == 9);
    CHECK(f.inner->sent.bytes == 600);
    CHECK(f.inner->sent.in_flight_before == 20'000);
    f.outer->on_feedback(some_feedback());
    CHECK(f.inner->heard.acked_bytes == 3000);
    CHECK(f.inner->heard.acked_packets == 3);
    CHECK(f.inner->heard.in_flight_before == 20'000);
    CHECK(f.inner->heard.lost.size() == 2);
    CHECK(f.inner->heard.delivery->rate == mbps(10));
    CHECK(f.inner->heard.line->arrival_pps == 1000);
    CHECK(f.inner->heard.line->pair_capacity == mbps(48));  // the link's capacity is not scaled
    f.outer->on_limits({.max_rate = mbps(30)});
    CHECK(f.inner->told.max_rate == mbps(15));
}

TEST_CASE("policy: a cap that is lifted while it runs leaves no trace") {
    const auto rate_after = [](const std::string& name, Policy policy, Rate cap) {
        const auto made = make_congestion_controller(name, {.datagram_bytes = 1000, .max_rate = cap, .policy = policy});
        REQUIRE(made.ok());
        made.value()->on_limits({.datagram_bytes = 1000});
        Bottleneck path(*made.value(), 10'000, 50ms, 2000);
        return goodput(path, 6s);
    };
    for (const std::string& name : congestion_controller_names()) {
        for (const Policy policy : {Policy::fair, Policy::high, Policy::low}) {
            INFO(name << ", policy " << static_cast<int>(policy));
            CHECK(rate_after(name, policy, mbps(0.1)) == rate_after(name, policy, Rate::infinite()));
        }
    }
}

TEST_CASE("base delay: the least of the last minute") {
    BaseDelay base;
    Instant t(1s);
    CHECK(base.add(t, 50ms) == 50ms);
    CHECK(base.add(t + 5s, 40ms) == 40ms);
    for (int i = 1; i < 6; ++i) CHECK(base.add(t + i * 10s, 60ms) == 40ms);
    CHECK(base.add(t + 60s, 60ms) == 60ms);
    CHECK(base.add(t + 61s, 30ms) == 30ms);
}

TEST_CASE("low: fills a line of its own to its target and no further") {
    Scavenger low({.datagram_bytes = 1000});
    Bottleneck path(low, 10'000, 50ms, 2000);
    Duration most{};
    path.run(5s);
    path.run(15s, [&] {
        most = std::max(most, low.queue_delay());
        return false;
    });
    CHECK(most < 2 * Scavenger::kTarget);
    CHECK(goodput(path, 20s) > 0.8 * 10e6);  // a tenth is spent in pauses
    CHECK(low.target() == Scavenger::kTarget);
}

TEST_CASE("low: random loss is tolerated, a queue smaller than the target is learnt") {
    Scavenger lossy({.datagram_bytes = 1000});
    Bottleneck random(lossy, 10'000, 50ms, 2000);
    random.lose_every(100);
    CHECK(goodput(random, 60s) > 0.7 * 10e6);
    CHECK(lossy.target() > Scavenger::kTarget / 2);

    Scavenger shallow({.datagram_bytes = 1000});
    Bottleneck small(shallow, 10'000, 50ms, 50);  // a queue of 5 ms
    small.run(20s);
    CHECK(shallow.target() < 5ms);
    CHECK(goodput(small, 40s) > 0.7 * 10e6);
}

TEST_CASE("low: a queue that others keep leaves it two packets, and it is back when they have gone") {
    Scavenger low({.datagram_bytes = 1000});
    Bottleneck path(low, 10'000, 50ms, 2000);
    path.run(5s);
    path.set_rtt(120ms);  // 70 ms of queue from other flows
    path.run(3s);
    CHECK(low.window() <= 4000);
    path.set_rtt(50ms);
    path.run(10s);
    CHECK(goodput(path, 10s) > 0.7 * 10e6);
}

TEST_CASE("low: silence leaves two packets") {
    Scavenger low({.datagram_bytes = 1000});
    Bottleneck path(low, 10'000, 50ms, 2000);
    path.run(5s);
    CongestionFeedback silence;
    silence.now = path.now();
    silence.persistent_timeout = true;
    low.on_feedback(silence);
    CHECK(low.window() == 2000);
}
