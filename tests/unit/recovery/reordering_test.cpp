// Reordering by up to a round trip: after the first rounds almost no loss is spurious.
#include "recovery/loss_recovery.hpp"

#include <map>
#include <random>

#include "recovery/ack_tracker.hpp"
#include "test/catch.hpp"
#include "unit/recovery/harness.hpp"

using namespace std::chrono_literals;
using namespace udtx;

namespace {

struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t declared = 0;
    std::uint64_t spurious = 0;
};

/// A round trip of 100 ms, a packet each 200 us, `percent` of them late by up to `lateness`; counted from 2 s to 10 s.
Counts run(std::uint64_t seed, int percent, Duration lateness) {
    std::mt19937_64 random(seed);
    recovery::Harness h;
    recovery::AckTracker tracker(PathId{}, kSynInterval);
    std::multimap<Instant, PacketNumber> forth;
    std::multimap<Instant, wire::AckFrame> back;
    Counts counts;
    for (Instant now; now < Instant(10s); now += 200us) {
        const bool counted = now >= Instant(2s);
        const bool late = static_cast<int>(random() % 100) < percent;
        const Duration extra =
            late ? Duration(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(lateness.count())))
                 : Duration::zero();
        forth.emplace(now + 50ms + extra, h.send(now));
        counts.sent += counted ? 1 : 0;
        for (; !forth.empty() && forth.begin()->first <= now; forth.erase(forth.begin())) {
            tracker.on_received(now, forth.begin()->second, true);
        }
        wire::AckFrame frame;
        if (tracker.due(now) && tracker.build(now, wire::kMaxAckRanges, frame)) back.emplace(now + 50ms, frame);
        for (; !back.empty() && back.begin()->first <= now; back.erase(back.begin())) {
            REQUIRE(h.recovery.on_ack(now, back.begin()->second, 0ms, h.out).ok());
            counts.declared += counted ? h.out.lost.size() : 0;
            counts.spurious += counted ? h.out.spurious : 0;
        }
        if (const auto deadline = h.recovery.deadline(); deadline && *deadline <= now) {
            h.recovery.on_timeout(now, h.out);
            counts.declared += counted ? h.out.lost.size() : 0;
        }
    }
    return counts;
}

}  // namespace

TEST_CASE("reordering: up to a round trip costs under 2 % spurious retransmissions after adaptation") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        CAPTURE(seed);
        const Counts counts = run(seed, 10, 95ms);
        INFO("declared " << counts.declared << " of " << counts.sent << ", spurious " << counts.spurious);
        CHECK(counts.spurious * 50 < counts.sent);
        CHECK(counts.declared * 50 < counts.sent);
    }
}

TEST_CASE("reordering: thresholds grow to what was seen, within their bounds, and shrink back") {
    recovery::ReorderingTolerance tolerance;
    tolerance.on_spurious(Instant(), 40, -1ms, 100ms, 100ms);
    CHECK(tolerance.packet_threshold() == 41);
    CHECK(tolerance.window() == 0ms);
    tolerance.on_spurious(Instant(), 10, 1ms, 100ms, 100ms);
    CHECK(tolerance.packet_threshold() == 41);
    CHECK(tolerance.window() == 25ms);
    tolerance.on_spurious(Instant(), 1U << 30U, 10s, 100ms, 100ms);
    CHECK(tolerance.packet_threshold() == recovery::ReorderingTolerance::kMaxPacketThreshold);
    CHECK(tolerance.window() == 100ms);  // at most one sRTT

    Instant now;
    tolerance.decay(now + 1599ms, 100ms);
    CHECK(tolerance.window() == 100ms);
    for (int i = 0; i < 20; ++i) {
        now += 1600ms;
        tolerance.decay(now, 100ms);
    }
    CHECK(tolerance.packet_threshold() == 3);
    CHECK(tolerance.window() == 0ms);
}
