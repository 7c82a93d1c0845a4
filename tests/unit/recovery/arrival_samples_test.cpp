#include "recovery/ack_tracker.hpp"

#include "recovery/loss_recovery.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::recovery::AckTracker;

namespace {

Instant at(Duration d) { return Instant(d); }

wire::AckFrame report(AckTracker& tracker, Instant now) {
    wire::AckFrame frame;
    REQUIRE(tracker.build(now, 32, frame));
    tracker.add_arrivals(frame);
    return frame;
}

}  // namespace

TEST_CASE("arrivals: every eighth packet and the newest, counted back from the newest") {
    AckTracker tracker(PathId{}, kSynInterval);
    for (PacketNumber n = 0; n < 20; ++n) tracker.on_received(at(1ms * n), n, true);
    const auto frame = report(tracker, at(20ms));
    const std::vector<wire::AckArrival> wanted{{0, 19000}, {8, 11000}, {16, 3000}, {19, 0}};
    CHECK(std::vector(frame.arrival_view().begin(), frame.arrival_view().end()) == wanted);
    CHECK(report(tracker, at(20ms)).arrival_count == 0);  // each arrival is reported once
}

TEST_CASE("arrivals: both neighbours of a gap") {
    AckTracker tracker(PathId{}, kSynInterval);
    for (const PacketNumber n : {0U, 1U, 2U, 5U, 6U}) tracker.on_received(at(1ms * n), n, true);
    const auto frame = report(tracker, at(6ms));
    const std::vector<wire::AckArrival> wanted{{0, 6000}, {2, 4000}, {5, 1000}, {6, 0}};
    CHECK(std::vector(frame.arrival_view().begin(), frame.arrival_view().end()) == wanted);
}

TEST_CASE("arrivals: the last of those that share a stamp") {
    AckTracker tracker(PathId{}, kSynInterval);
    for (PacketNumber n = 0; n < 20; ++n) tracker.on_received(at(0ms), n, true);
    for (PacketNumber n = 20; n < 40; ++n) tracker.on_received(at(5ms), n, true);
    const auto frame = report(tracker, at(5ms));
    const std::vector<wire::AckArrival> wanted{{19, 5000}, {39, 0}};
    CHECK(std::vector(frame.arrival_view().begin(), frame.arrival_view().end()) == wanted);
}

TEST_CASE("arrivals: not more than a frame holds, the newest always among them") {
    AckTracker tracker(PathId{}, kSynInterval);
    for (PacketNumber n = 0; n < 200; n += 2) tracker.on_received(at(1ms * n), n, true);
    const auto frame = report(tracker, at(200ms));
    CHECK(frame.arrival_count == wire::kMaxAckArrivals);
    CHECK(frame.arrivals[frame.arrival_count - 1] == wire::AckArrival{198, 0});
}

TEST_CASE("arrivals: a late packet is no sample") {
    AckTracker tracker(PathId{}, kSynInterval);
    for (const PacketNumber n : {0U, 2U, 1U}) tracker.on_received(at(1ms), n, true);
    const auto frame = report(tracker, at(2ms));
    CHECK(frame.arrival_count > 0);
    for (const auto& arrival : frame.arrival_view()) CHECK(arrival.number != 1);
}

TEST_CASE("loss recovery: arrivals become delays, of packets that were sent") {
    recovery::LossRecovery recovery(kSynInterval);
    for (PacketNumber n = 0; n < 4; ++n) {
        recovery::SentPacket packet;
        packet.number = n;
        packet.sent = at(10ms * n);
        packet.bytes = 1000;
        packet.in_flight = packet.ack_eliciting = true;
        recovery.on_sent(packet);
    }
    recovery.skip_number();
    recovery::SentPacket packet;
    packet.number = 5;
    packet.sent = at(50ms);
    packet.bytes = 1000;
    packet.in_flight = packet.ack_eliciting = true;
    recovery.on_sent(packet);

    wire::AckFrame frame;
    frame.ranges[0] = {5, 5};
    frame.ranges[1] = {0, 3};
    frame.count = 2;
    frame.arrivals[0] = {1, 30'000};
    frame.arrivals[1] = {4, 10'000};  // a number that the sender skipped deliberately
    frame.arrivals[2] = {5, 0};
    frame.arrival_count = 3;
    recovery::Outcome out;
    REQUIRE(recovery.on_ack(at(100ms), frame, 0ms, out));
    REQUIRE(out.arrivals.size() == 2);
    CHECK(out.arrivals[0].number == 1);
    // Packet 5, sent at 50 ms, took a time t. Packet 1, sent at 10 ms, arrived 30 ms earlier, so it took t + 10 ms.
    CHECK(out.arrivals[0].delay - out.arrivals[1].delay == 10ms);
}
