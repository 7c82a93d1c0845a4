#include "recovery/ack_tracker.hpp"

#include <algorithm>

#include "test/catch.hpp"
#include "test/fault_case.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::recovery::AckTracker;

namespace {
Instant at(Duration d) { return Instant(d); }
}  // namespace

TEST_CASE("ack tracker: due after the SYN interval, counted from the oldest unreported packet") {
    AckTracker tracker(PathId{3}, kSynInterval);
    wire::AckFrame frame;
    CHECK_FALSE(tracker.build(at(0ms), 256, frame));
    CHECK_FALSE(tracker.deadline());
    CHECK(tracker.on_received(at(0ms), 0, true));
    CHECK(tracker.on_received(at(4ms), 1, true));
    CHECK(tracker.pending());
    CHECK_FALSE(tracker.due(at(9ms)));
    CHECK(tracker.deadline() == at(10ms));
    CHECK(tracker.due(at(10ms)));
    REQUIRE(tracker.build(at(10ms), 256, frame));
    CHECK(frame.path == PathId{3});
    CHECK(frame.count == 1);
    CHECK(frame.ranges[0] == wire::AckRange{0, 1});
    CHECK(frame.delay_us == 6000);
    CHECK_FALSE(tracker.due(at(1s)));
    CHECK_FALSE(tracker.pending());
    CHECK_FALSE(tracker.deadline());
}

TEST_CASE("ack tracker: due after 64 packets") {
    AckTracker tracker(PathId{}, kSynInterval);
    for (PacketNumber n = 0; n < 63; ++n) tracker.on_received(at(0ms), n, true);
    CHECK_FALSE(tracker.due(at(0ms)));
    tracker.on_received(at(0ms), 63, true);
    CHECK(tracker.due(at(0ms)));
}

TEST_CASE("ack tracker: due at once on a new gap and below the largest") {
    AckTracker tracker(PathId{}, kSynInterval);
    wire::AckFrame frame;
    tracker.on_received(at(0ms), 5, true);
    CHECK_FALSE(tracker.due(at(0ms)));
    tracker.on_received(at(0ms), 7, true);
    CHECK(tracker.due(at(0ms)));
    tracker.build(at(0ms), 256, frame);
    CHECK(frame.count == 2);
    CHECK(frame.ranges[0] == wire::AckRange{7, 7});
    CHECK(frame.ranges[1] == wire::AckRange{5, 5});
    tracker.on_received(at(1ms), 8, true);  // the old gap was reported before
    CHECK_FALSE(tracker.due(at(1ms)));
    tracker.on_received(at(2ms), 6, true);
    CHECK(tracker.due(at(2ms)));
    CHECK(tracker.largest() == PacketNumber{8});
    CHECK(tracker.largest_time() == at(1ms));
}

TEST_CASE("ack tracker: packets that ask for nothing are recorded but never answered") {
    AckTracker tracker(PathId{}, kSynInterval);
    tracker.on_received(at(0ms), 0, false);
    tracker.on_received(at(0ms), 9, false);
    CHECK_FALSE(tracker.due(at(1s)));
    CHECK_FALSE(tracker.deadline());
    CHECK(tracker.pending());
    wire::AckFrame frame;
    REQUIRE(tracker.build(at(1s), 1, frame));
    CHECK(frame.count == 1);
    CHECK(frame.ranges[0] == wire::AckRange{9, 9});
}

TEST_CASE("ack tracker: alternating holes keep 256 ranges, the newest") {
    AckTracker tracker(PathId{}, kSynInterval);
    for (PacketNumber n = 0; n < 200'000; n += 2) {
        REQUIRE(tracker.on_received(at(0ms), n, true));
        REQUIRE(tracker.range_count() <= 256);
    }
    wire::AckFrame frame;
    REQUIRE(tracker.build(at(0ms), 1000, frame));
    CHECK(frame.count == 256);
    CHECK(frame.ranges[0] == wire::AckRange{199'998, 199'998});
    CHECK(frame.ranges[255] == wire::AckRange{199'488, 199'488});
    CHECK_FALSE(tracker.on_received(at(0ms), 3, true));        // below the ranges that are kept
    CHECK_FALSE(tracker.on_received(at(0ms), 199'488, true));  // duplicate
    CHECK(tracker.on_received(at(0ms), 199'489, true));
}

TEST_CASE("ack tracker: ranges below an acknowledged acknowledgement go, latecomers are still welcome") {
    AckTracker tracker(PathId{}, kSynInterval);
    for (const PacketNumber n : {0U, 1U, 3U, 4U, 6U, 7U}) tracker.on_received(at(0ms), n, true);
    tracker.on_ack_acknowledged(4);
    CHECK(tracker.range_count() == 2);  // [3,4] stays: 4 is not below 4
    tracker.on_ack_acknowledged(7);
    CHECK(tracker.range_count() == 1);
    CHECK(tracker.largest() == PacketNumber{7});
    CHECK(tracker.on_received(at(0ms), 2, true));
    wire::AckFrame frame;
    REQUIRE(tracker.build(at(0ms), 256, frame));
    CHECK(frame.count == 2);
    CHECK(frame.ranges[1] == wire::AckRange{2, 2});
}

TEST_CASE("F39 every other packet missing, a million times: at most 256 ranges are kept, the newest are told") {
    recovery::AckTracker tracker(PathId{0}, 10ms);
    wire::AckFrame frame;
    std::size_t accepted = 0;
    std::size_t most_ranges = 0;
    for (PacketNumber number = 0; number < 2'000'000; number += 2) {
        accepted += tracker.on_received(Instant(number * 1us), number, true) ? 1U : 0U;
        most_ranges = std::max(most_ranges, tracker.range_count());
        if (number % 1000 == 0) {
            REQUIRE(tracker.build(Instant(number * 1us), 32, frame));
            REQUIRE(frame.largest() == number);
        }
    }
    CHECK(accepted == 1'000'000);
    CHECK(most_ranges == wire::kMaxAckRanges);
    test::fault_case(39, "every other of 2 * 10^6 packets: at most 256 ranges kept", most_ranges, " ranges");
}

TEST_CASE("F82 numbers around 2^32 and up to 2^62") {
    int frames = 0;
    for (const PacketNumber first : {(1ULL << 32U) - 1000, (1ULL << 62U) - 2001}) {
        recovery::AckTracker tracker(PathId{0}, 10ms);
        wire::AckFrame frame;
        for (PacketNumber number = first; number < first + 2000; ++number) {
            REQUIRE(tracker.on_received(Instant{}, number, true));
        }
        REQUIRE(tracker.build(Instant{}, 32, frame));
        CHECK(frame.count == 1);
        ++frames;
        CHECK(frame.ranges[0] == wire::AckRange{.first = first, .last = first + 1999});
    }
    test::fault_case(82, "acknowledgements around 2^32 and up to 2^62: one range of 2,000", frames,
                     " frames of one range");
}
