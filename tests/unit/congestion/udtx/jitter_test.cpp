// udtx's jitter estimate: it distinguishes delays that no link can cause from those of a queue.
// tests/scenario/jitter_test.cpp tests it in a whole connection.
#include "congestion/udtx/delay.hpp"

#include <algorithm>
#include <functional>

#include "sim/prng.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr Instant kStart = Instant(1h);
constexpr Duration kPacketTime = 100us;
constexpr std::uint32_t kBytes = 1250;
constexpr double kLine = kBytes / 100e-6;  // bytes/s
constexpr double kAccount = 0.4e-3;        // s

/// A sender on a link of rate kLine. `others` is the delay by other flows' packets in the queue, `later` the delay
/// after the link. The order of packets is kept.
struct Way {
    Duration apart = kPacketTime;
    std::function<bool(PacketNumber)> lost = [](PacketNumber) { return false; };
    std::function<Duration(PacketNumber)> others = [](PacketNumber) { return Duration::zero(); };  // ahead in the queue
    std::function<Duration(PacketNumber)> later = [](PacketNumber) { return Duration::zero(); };   // in order
};

/// Feeds `jitter` with so many packets, acknowledged 64 at a time. Samples are each eighth packet and both edges of a
/// gap.
void run(UdtxJitter& jitter, const Way& way, PacketNumber packets) {
    Instant line_free = kStart;
    Instant last_arrival = kStart;
    CongestionFeedback feedback;
    PacketNumber kept = 0;
    bool gap = false;
    for (PacketNumber n = 1; n <= packets; ++n) {
        const Instant sent = kStart + way.apart * static_cast<std::int64_t>(n);
        if (way.lost(n)) {
            feedback.lost.push_back({n, kBytes, sent});
            gap = true;
            continue;
        }
        line_free = std::max(line_free, sent) + way.others(n) + kPacketTime;
        last_arrival = std::max(last_arrival, line_free + 10ms + way.later(n));
        ++feedback.acked_packets;
        feedback.acked_bytes += kBytes;
        if (gap || n - kept >= 8 || way.lost(n + 1)) {
            feedback.arrivals.push_back({n, sent, last_arrival - sent});
            kept = n;
        }
        gap = false;
        if (feedback.acked_packets < 64) continue;
        feedback.now = last_arrival + 10ms;
        jitter.on_feedback(feedback, kLine, kAccount);
        feedback = {};
    }
}

}  // namespace

TEST_CASE("udtx jitter: queues are none, whoever fills and empties them, nor are packets lost before them") {
    sim::Prng prng(7);
    const auto seldom = [&prng](PacketNumber) { return prng.below(100) == 0 ? 20 * kPacketTime : Duration::zero(); };
    for (const Duration apart : {kPacketTime, 3 * kPacketTime, 10 * kPacketTime}) {
        for (const PacketNumber run_length : {0U, 1U, 7U, 20U}) {
            const auto lost = [&](PacketNumber n) { return n % 150 < run_length; };
            UdtxJitter jitter;
            run(jitter, {.apart = apart, .lost = lost, .others = seldom}, 20'000);
            INFO(apart.count() << " ns apart, " << run_length << " lost in a row");
            CHECK(jitter.size() == 0.0);
        }
    }
}

TEST_CASE("udtx jitter: packets that are held up behind the line come faster than it can carry them") {
    sim::Prng prng(7);
    const auto noise = [&prng](PacketNumber) { return Duration(static_cast<std::int64_t>(prng.below(4'000'000))); };
    for (const Duration apart : {kPacketTime, 2 * kPacketTime}) {
        UdtxJitter jitter;
        run(jitter, {.apart = apart, .later = noise}, 20'000);
        CHECK(jitter.size() > kAccount);
        CHECK(jitter.size() < 4e-3);
    }
}

TEST_CASE("udtx jitter: a receiver that stood still once is none; jitter that ended is forgotten") {
    const auto stood_still = [](PacketNumber n) {
        return n >= 9000 && n < 9100 ? kPacketTime * static_cast<std::int64_t>(9100 - n) : Duration::zero();
    };
    UdtxJitter once;
    run(once, {.later = stood_still}, 20'000);
    CHECK(once.size() == 0.0);

    const auto again = [](PacketNumber n) {
        return n < 60'000 ? kPacketTime * static_cast<std::int64_t>(99 - n % 100) : Duration::zero();
    };
    UdtxJitter jitter;
    run(jitter, {.later = again}, 60'000);
    CHECK(jitter.size() > 1e-3);
    UdtxJitter over;
    run(over, {.later = again}, 190'000);  // 13 s more, without jitter
    CHECK(over.size() == 0.0);
}

TEST_CASE("udtx jitter noise: takes away what jitter adds to every delay, and leaves a queue") {
    sim::Prng prng(7);
    JitterNoise noise;
    const Duration base = 20ms;
    const JitterNoise::Path path{.jitter = 2e-3, .base_rtt = 0.1};
    const auto delay = [&](Duration queue) {  // at least 3 ms of jitter
        return base + queue + 3ms + Duration(static_cast<std::int64_t>(prng.below(2'000'000)));
    };
    Instant now = kStart;
    double quiet = 0.0;
    for (int i = 0; i < 200; ++i, now += 10ms) {
        const Duration lowest = noise.on_delay(now, delay(0ms), base, path);
        quiet = std::max(quiet, to_seconds(lowest - base) - noise.height());
    }
    CHECK(quiet < 0.1e-3);
    Duration lowest{};
    for (int i = 0; i < 10; ++i, now += 10ms) lowest = noise.on_delay(now, delay(10ms), base, path);
    CHECK(to_seconds(lowest - base) - noise.height() > 7e-3);
    // The height is bounded, and without jitter nothing is subtracted.
    lowest = noise.on_delay(now, delay(0ms), base, {.jitter = 1.0, .base_rtt = 0.1});
    CHECK(noise.height() <= JitterNoise::kMost);
    CHECK(noise.on_delay(now, base + 7ms, base, {.jitter = 0.0, .base_rtt = 0.1}) == base + 7ms);
    CHECK(noise.height() == 0.0);
}
