// How udtx tells jitter from a queue: by the distance of delays to a straight line, at any sending rate.
// tests/scenario/jitter_test.cpp tests it in a whole connection.
#include "congestion/udtx/seen.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "sim/prng.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr Instant kStart = Instant(1h);
constexpr std::uint32_t kBytes = 1250;
constexpr double kRtt = 0.02;     // s
constexpr double kLimit = 4e-3;   // s
constexpr Duration kBase = 10ms;  // one-way delay without a queue

struct Path {
    Duration apart = 100us;  ///< between packets
    /// Queue and jitter of a packet at the time since the start. The order of packets is kept.
    std::function<Duration(Duration since)> delay = [](Duration) { return Duration::zero(); };
    std::optional<LineEstimate> line{};
};

/// Feeds `roughness` for `length` with packets, acknowledged each 10 ms, with a sample of each eighth packet.
void run(UdtxRoughness& roughness, const Path& path, Duration length, Duration from = {}) {
    Instant last_arrival{};
    Instant acked = kStart + from;
    CongestionFeedback feedback;
    for (Duration since = from; since < from + length; since += path.apart) {
        const Instant sent = kStart + since;
        last_arrival = std::max(last_arrival, sent + kBase + path.delay(since));
        ++feedback.acked_packets;
        feedback.acked_bytes += kBytes;
        if (feedback.acked_packets % 8 == 1) feedback.arrivals.push_back({1, sent, last_arrival - sent});
        if (sent - acked < 10ms) continue;
        acked = sent;
        feedback.now = last_arrival + kBase;
        feedback.line = path.line;
        roughness.on_feedback(feedback, kRtt, kLimit);
        feedback = {};
    }
}

std::function<Duration(Duration)> uniform(Duration most) {
    return [most, prng = sim::Prng(7)](Duration) mutable {
        return Duration(static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(most.count()))));
    };
}

std::optional<LineEstimate> trains(double mbps, double error) {
    return LineEstimate{.capacity = Rate::bytes_per_second(mbps * 1e6 / 8.0), .error = error};
}

}  // namespace

// Packets that keep their order hide some of it at a high rate: most wait for one with a long delay.
TEST_CASE("udtx roughness: jitter shows at any sending rate, as about what it adds to a delay") {
    const auto jitter = uniform(10ms);
    for (const Duration apart : {50us, 200us, 1000us, 5000us}) {
        UdtxRoughness roughness;
        run(roughness, {.apart = apart, .delay = jitter, .line = trains(100, 1.0)}, 5s);
        INFO(apart.count() << " ns apart: " << roughness.noise());
        CHECK(roughness.rough());
        CHECK(roughness.noise() > 1.5e-3);
        CHECK(roughness.noise() < 18e-3);
        CHECK(roughness.queue() < 2e-3);
    }
}

TEST_CASE("udtx roughness: jitter shows though it holds each value for ten milliseconds") {
    const auto held = [prng = sim::Prng(7), step = std::int64_t{-1}, value = Duration()](Duration since) mutable {
        if (since / 10ms != step) value = Duration(static_cast<std::int64_t>(prng.below(20'000'000)));
        step = since / 10ms;
        return value;
    };
    UdtxRoughness roughness;
    run(roughness, {.delay = held, .line = trains(100, 1.0)}, 5s);
    CHECK(roughness.rough());
    CHECK(roughness.noise() > 10e-3);
    CHECK(roughness.queue() < 4e-3);
}

TEST_CASE("udtx roughness: queues that grow, rest and empty are no jitter") {
    const auto saw = [](Duration since) { return since % 200ms / 4; };  // up to 50 ms, each 200 ms
    const auto step = [](Duration since) { return since % 2s < 1s ? 0ms : 20ms; };
    for (const auto& queue : {std::function<Duration(Duration)>(saw), std::function<Duration(Duration)>(step)}) {
        UdtxRoughness roughness;
        run(roughness, {.delay = queue}, 10s);
        CHECK_FALSE(roughness.rough());
    }
}

TEST_CASE("udtx roughness: the bursts of a flow with a window are no jitter, and jitter still shows") {
    const auto wave = [](Duration since) {  // 0 to 4 ms, each 8 ms
        const Duration phase = since % 8ms;
        return std::min(phase, 8ms - phase);
    };
    const auto jitter = uniform(6ms);
    const auto rough = [](UdtxRoughness::Pacing pacing, const std::function<Duration(Duration)>& delay) {
        UdtxRoughness roughness(pacing);
        run(roughness, {.delay = delay, .line = trains(100, 1.0)}, 5s);
        return roughness.rough();
    };
    CHECK(rough(UdtxRoughness::Pacing::rate, wave));
    CHECK_FALSE(rough(UdtxRoughness::Pacing::window, wave));
    CHECK(rough(UdtxRoughness::Pacing::window, jitter));
}

TEST_CASE("udtx roughness: a standing queue of others is none, whatever its changes") {
    UdtxRoughness roughness;
    run(roughness, {}, 1s);
    const auto noisy = uniform(10ms);
    run(roughness, {.delay = [&noisy](Duration since) { return 40ms + noisy(since); }}, 4s, 1s);
    CHECK_FALSE(roughness.rough());
    CHECK(roughness.queue() > 20e-3);
}

TEST_CASE("udtx roughness: trains decide how much jitter is too much") {
    const auto jitter = uniform(3ms);
    UdtxRoughness told;
    run(told, {.delay = jitter, .line = trains(100, 0.01)}, 5s);
    CHECK_FALSE(told.rough());
    UdtxRoughness irregular;
    run(irregular, {.delay = jitter, .line = trains(100, 1.0)}, 5s);
    CHECK(irregular.rough());
    UdtxRoughness differing;
    run(differing, {.delay = jitter, .line = trains(100, 0.01)}, 1s);
    CHECK(differing.trains_agree());
    run(differing, {.delay = jitter, .line = trains(20, 0.01)}, 1s, 1s);
    CHECK_FALSE(differing.trains_agree());
    CHECK(differing.rough());
    UdtxRoughness slower;  // the queue explains why trains are slower than before
    run(slower, {.line = trains(100, 0.01)}, 1s);
    run(slower, {.delay = [](Duration) { return 20ms; }, .line = trains(20, 0.01)}, 1s, 1s);
    CHECK(slower.trains_agree());
}

TEST_CASE("udtx roughness: the end of jitter shows after five seconds") {
    const auto jitter = uniform(12ms);
    UdtxRoughness roughness;
    run(roughness, {.delay = jitter, .line = trains(100, 1.0)}, 3s);
    REQUIRE(roughness.rough());
    run(roughness, {.line = trains(100, 1.0)}, 4s, 3s);
    CHECK(roughness.rough());
    run(roughness, {.line = trains(100, 1.0)}, 4s, 7s);
    CHECK_FALSE(roughness.rough());
    CHECK(roughness.noise() < 0.1e-3);
}

TEST_CASE("udtx roughness: deliveries count over a tenth of a second") {
    UdtxRoughness roughness;
    run(roughness, {.apart = 100us, .delay = uniform(8ms)}, 3s);
    CHECK(roughness.delivered() > 0.98 * kBytes / 100e-6);
    CHECK(roughness.delivered() < 1.15 * kBytes / 100e-6);
}
