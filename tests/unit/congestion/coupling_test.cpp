#include "congestion/coupling.hpp"

#include <cmath>
#include <functional>
#include <memory>

#include "sim/prng.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr int kTicks = 1000;  // of 10 ms each

Instant tick(int i) { return Instant(1h) + i * 10ms; }

void fill(DelayTrace& trace, const std::function<double(int)>& delay, int ticks = kTicks) {
    for (int i = 0; i < ticks; ++i) trace.add(tick(i), delay(i));
}

double wave(int i) { return 5e-3 * std::sin(i / 40.0) + 3e-3 * std::sin(i / 13.0); }

}  // namespace

TEST_CASE("traces of one queue correlate, whatever the clocks, the lag and some noise") {
    sim::Prng random(1);
    const auto noise = [&random] { return 2e-3 * static_cast<double>(random.below(1000)) / 1000.0; };
    auto a = std::make_unique<DelayTrace>();
    auto b = std::make_unique<DelayTrace>();
    fill(*a, [&](int i) { return 0.02 + wave(i) + noise(); });
    fill(*b, [&](int i) { return 86400.0 + wave(i - 15) + noise(); });  // 150 ms later
    CHECK(DelayTrace::correlation(*a, *b, tick(kTicks)) > 0.9);
}

TEST_CASE("independent queues do not, nor do lines at rest, nor what is too short") {
    sim::Prng random(2);
    auto walk = [&random, value = 0.01](int i) mutable {
        if (i % 20 == 0) value = 0.02 * static_cast<double>(random.below(1000)) / 1000.0;
        return value;
    };
    auto a = std::make_unique<DelayTrace>();
    auto b = std::make_unique<DelayTrace>();
    auto still = std::make_unique<DelayTrace>();
    auto brief = std::make_unique<DelayTrace>();
    fill(*a, walk);
    fill(*b, walk);
    fill(*still, [](int i) { return 0.01 + 1e-4 * std::sin(i / 40.0); });
    fill(*brief, walk, 300);
    CHECK(std::abs(DelayTrace::correlation(*a, *b, tick(kTicks))) < 0.4);
    CHECK(DelayTrace::correlation(*still, *still, tick(kTicks)) == 0.0);
    CHECK(DelayTrace::correlation(*brief, *brief, tick(300)) == 0.0);
    // Gaps: a path without samples for half of the time.
    auto holes = std::make_unique<DelayTrace>();
    for (int i = 0; i < kTicks; ++i) {
        if (i / 50 % 2 == 0) holes->add(tick(i), wave(i));
    }
    CHECK(DelayTrace::correlation(*holes, *holes, tick(kTicks)) == 0.0);
}

TEST_CASE("members share a bottleneck when delay and line rate agree, and until the delays part") {
    CouplingGroup group;
    const auto a = group.join();
    const auto b = group.join();
    const auto c = group.join();
    group.member(a).capacity = 10e6;
    group.member(b).capacity = 11e6;
    group.member(c).capacity = 20e6;
    for (const auto id : {a, b, c}) fill(group.member(id).trace, wave);
    CHECK(group.sharers(a, tick(kTicks)) == 2);
    CHECK(group.sharers(b, tick(kTicks)) == 2);
    CHECK(group.sharers(c, tick(kTicks)) == 1);
    sim::Prng random(3);
    for (int i = kTicks; i < 2 * kTicks; ++i) {
        group.member(a).trace.add(tick(i), wave(i));
        group.member(b).trace.add(tick(i), 0.02 * static_cast<double>((i / 30 * 7919) % 100) / 100.0);
    }
    CHECK(group.sharers(a, tick(2 * kTicks)) == 1);
    group.leave(b);
    CHECK(group.join() == b);
    CHECK(group.sharers(b, tick(2 * kTicks)) == 1);
}

namespace {

/// Stores the feedback that it receives.
class Listener final : public CongestionController {
  public:
    explicit Listener(CongestionFeedback& heard) : heard_(heard) {}
    void on_sent(const CongestionSent& /*packet*/) override {}
    void on_feedback(const CongestionFeedback& feedback) override { heard_ = feedback; }
    [[nodiscard]] std::uint64_t window() const override { return 90'000; }
    [[nodiscard]] Rate pacing_rate() const override { return Rate::bits_per_second(9e6); }
    [[nodiscard]] CongestionReport report() const override { return {}; }

  private:
    CongestionFeedback& heard_;
};

}  // namespace

TEST_CASE("of m sharers each takes the m-th part, and tells its controller of m times what happens") {
    const auto group = std::make_shared<CouplingGroup>();
    std::array<CongestionFeedback, 3> heard;
    std::vector<std::unique_ptr<CoupledShare>> paths;
    for (auto& h : heard) paths.push_back(std::make_unique<CoupledShare>(std::make_unique<Listener>(h), group, 1200));
    CongestionFeedback f;
    for (int i = 0; i < kTicks; ++i) {
        f.now = tick(i);
        f.one_way_delay = from_seconds(0.02 + wave(i));
        f.acked_bytes = 1000;
        f.acked_packets = 10;
        f.in_flight_before = 5000;
        f.free_window = ~std::uint64_t{0} - 5;  // a peer may grant that much
        f.delivery = DeliverySample{.rate = Rate::bits_per_second(1e6), .interval = 10ms};
        f.line = LineEstimate{.capacity = Rate::bytes_per_second(1e6), .pair_capacity = Rate::bytes_per_second(1e6)};
        for (auto& path : paths) path->on_feedback(f);
        if (i == 0) {
            CHECK(paths[0]->window() == 90'000);
            CHECK(heard[0].acked_bytes == 1000);
        }
    }
    CHECK(paths[0]->sharers() == 3);
    CHECK(paths[0]->window() == 30'000);
    CHECK(paths[0]->pacing_rate().bps() == Approx(3e6));
    CHECK(heard[0].acked_bytes == 3000);
    CHECK(heard[0].acked_packets == 10);
    CHECK(heard[0].in_flight_before == 15'000);
    CHECK(heard[0].free_window >= f.free_window - 5);
    CHECK(heard[0].delivery->rate.bps() == Approx(3e6));
    CHECK(heard[0].line->pair_capacity == Rate::bytes_per_second(1e6));
}
