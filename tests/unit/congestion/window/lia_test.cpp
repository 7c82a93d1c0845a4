// Expected values were computed by hand from RFC 6356. Datagrams of 1,000 bytes.
#include "congestion/window.hpp"

#include <cmath>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr double kSegment = 1000.0;

struct Path {
    Path(std::shared_ptr<CouplingGroup> group, Duration round_trip)
        : lia({.datagram_bytes = 1000}, std::move(group)), rtt(round_trip) {}

    CongestionFeedback feedback(double acked_segments) {
        CongestionFeedback f;
        f.now = now;
        f.smoothed_rtt = rtt;
        f.rtt_variance = 1ms;
        f.largest_sent = f.largest_acked = ++sent;
        f.acked_packets = static_cast<std::uint32_t>(acked_segments);
        f.acked_bytes = static_cast<std::uint64_t>(acked_segments * kSegment);
        f.in_flight_before = f.in_flight_after = lia.window();
        f.rtt_sample = rtt;
        return f;
    }
    void ack(double segments) {
        now += 1ms;
        lia.on_feedback(feedback(segments));
    }
    void lose() {
        CongestionFeedback f = feedback(0);
        f.lost.push_back({sent, 1000, now});
        lia.on_feedback(f);
    }
    /// Slow start until twice `segments`, then a loss that halves the window.
    void settle(double segments) {
        while (this->segments() < 2.0 * segments) ack(std::min(10.0, 2.0 * segments - this->segments()));
        lose();
    }
    [[nodiscard]] double segments() const { return lia.exact_window() / kSegment; }

    Lia lia;
    Duration rtt;
    Instant now{1h};
    PacketNumber sent = 0;
};

}  // namespace

TEST_CASE("lia without siblings is Reno: a segment each round trip, half on a loss") {
    Path path(nullptr, 100ms);
    path.settle(50);
    CHECK(path.segments() == Approx(50.0));
    path.ack(10);
    CHECK(path.segments() == Approx(50.0 + 10.0 / 50.0));
    path.lose();
    CHECK(path.segments() == Approx(25.1));
}

TEST_CASE("lia grows by an ACK of many packets as by one for each") {
    Path one(nullptr, 100ms);
    Path many(nullptr, 100ms);
    SECTION("in slow start") {
        for (int i = 0; i < 200; ++i) one.ack(1);
        many.ack(200);
    }
    SECTION("in congestion avoidance") {
        one.settle(50);
        many.settle(50);
        for (int i = 0; i < 2000; ++i) one.ack(1);
        many.ack(2000);
        CHECK(one.segments() == Approx(std::sqrt(50.0 * 50.0 + 2.0 * 2000.0)).epsilon(0.01));
    }
    CHECK(many.segments() == Approx(one.segments()).epsilon(0.01));
}

TEST_CASE("lia on equal paths: together one flow's increase") {
    const auto group = std::make_shared<CouplingGroup>();
    Path a(group, 100ms);
    Path b(group, 100ms);
    a.settle(50);
    b.settle(50);
    // alpha = 100 (50 / 0.01) / (1000)^2 = 0.5; the increase is 0.5 x acked / 100.
    CHECK(group->alpha() == Approx(0.5));
    a.ack(10);
    CHECK(a.segments() == Approx(50.05));
}

TEST_CASE("lia on unequal paths: RFC 6356's alpha, never more than a single flow adds") {
    const auto group = std::make_shared<CouplingGroup>();
    Path fast(group, 10ms);
    Path slow(group, 100ms);
    fast.settle(10);
    slow.settle(100);
    // alpha = 110 x max(10 / 1e-4, 100 / 1e-2) / (1000 + 1000)^2 = 110 x 1e5 / 4e6
    CHECK(group->alpha() == Approx(2.75));
    fast.ack(2);
    CHECK(fast.segments() == Approx(10.0 + std::min(2.75 * 2 / 110.0, 2 / 10.0)));
    const double alpha = group->alpha();
    const double total = group->total_window() / kSegment;
    slow.ack(2);
    CHECK(slow.segments() == Approx(100.0 + std::min(alpha * 2 / total, 2 / 100.0)));
}

TEST_CASE("a path that has left counts no more") {
    const auto group = std::make_shared<CouplingGroup>();
    Path stays(group, 100ms);
    stays.settle(50);
    {
        Path leaves(group, 100ms);
        leaves.settle(50);
        CHECK(group->total_window() == Approx(100e3));
    }
    CHECK(group->total_window() == Approx(50e3));
    CHECK(group->alpha() == Approx(1.0));
    Path again(group, 100ms);  // takes the free place in the group
    CHECK(group->total_window() == Approx(50e3));
}
