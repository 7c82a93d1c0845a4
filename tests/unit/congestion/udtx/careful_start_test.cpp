// The start on a known path, by itself and in udtx.
#include "congestion/udtx/careful_start.hpp"

#include <algorithm>

#include "../bottleneck.hpp"
#include "congestion/policy.hpp"
#include "congestion/udtx/udtx.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

using Phase = UdtxCarefulStart::Phase;

constexpr Instant kStart = Instant(1h);
constexpr double kSlowStart = 18'000.0;
constexpr double kMost = 5e-3;  // s, the longest queue without congestion

/// 10 MB/s and 100 ms: half of it is a window of 500 kB.
KnownPath known() { return {.capacity = Rate::bytes_per_second(1e7), .base_rtt = 100ms, .measured = kStart - 1min}; }

/// Sends packets of 1,000 bytes from number 1 on, as many as the window lets.
PacketNumber send_window(UdtxCarefulStart& start, Instant now = kStart) {
    PacketNumber number = 0;
    for (std::uint64_t flight = 0; static_cast<double>(flight) + 1000.0 <= std::max(start.window(), kSlowStart);
         flight += 1000)
        start.on_sent({now, ++number, 1000, flight}, kSlowStart);
    return number;
}

CongestionFeedback acked(PacketNumber largest, std::uint32_t packets) {
    CongestionFeedback f;
    f.now = kStart + 100ms;
    f.acked_packets = packets;
    f.acked_bytes = packets * 1000ULL;
    f.largest_acked = largest;
    return f;
}

CongestionFeedback sampled(Duration rtt) {
    CongestionFeedback f = acked(1, 1);
    f.rtt_sample = rtt;
    return f;
}

}  // namespace

TEST_CASE("careful start: half of what was known leaves within a round trip, and only once an RTT confirms the path") {
    UdtxCarefulStart start;
    start.recall(known(), {});
    CHECK(start.phase() == Phase::reconnaissance);
    CHECK(start.window() == 0.0);
    start.on_feedback(sampled(100ms), 0.0, kMost);
    CHECK(start.window() == Approx(5e5));
    CHECK(start.rate() == Approx(5e6));
}

TEST_CASE("careful start: the RTT of the handshake confirms the path, from 0.5 to 10 times the known one") {
    for (const Duration rtt : {50ms, 100ms, 200ms, 1000ms}) {
        UdtxCarefulStart start;
        start.recall(known(), rtt);
        CHECK(start.phase() == Phase::unvalidated);
        CHECK(start.window() == Approx(std::min(5e6 * to_seconds(rtt), 5e5)));
        CHECK(start.rate() == Approx(start.window() / to_seconds(rtt)));
    }
    for (const Duration rtt : {49ms, 1001ms}) {
        UdtxCarefulStart start;
        start.recall(known(), rtt);
        CHECK(start.phase() == Phase::none);
        start.on_feedback(sampled(100ms), 0.0, kMost);
        CHECK(start.window() == 0.0);
    }
}

TEST_CASE("careful start: it is validated when its last packet arrives without a queue") {
    UdtxCarefulStart start;
    start.recall(known(), 100ms);
    const PacketNumber last = send_window(start);
    REQUIRE(last == 500);
    start.on_feedback(acked(18, 18), 0.0, kMost);
    CHECK(start.phase() == Phase::unvalidated);  // those are packets of slow start
    start.on_feedback(acked(100, 82), 0.0, kMost);
    CHECK(start.phase() == Phase::validating);
    CongestionFeedback some = acked(499, 395);
    for (PacketNumber n = 101; n < 105; ++n) some.lost.push_back({n, 1000, kStart});
    start.on_feedback(some, 0.0, kMost);  // random loss of 1 %
    CHECK(start.phase() == Phase::validating);
    start.on_feedback(acked(500, 1), 0.0, kMost);
    CHECK(start.phase() == Phase::validated);
    CHECK(start.window() == 0.0);
}

TEST_CASE("careful start: losses, a queue or a timeout end it, and slow start goes on with half of what had arrived") {
    for (const int sign : {0, 1, 2}) {
        UdtxCarefulStart start;
        start.recall(known(), 100ms);
        send_window(start);
        start.on_feedback(acked(118, 100), 0.0, kMost);
        REQUIRE(start.phase() == Phase::validating);
        CongestionFeedback bad = acked(158, 20);
        if (sign == 0) {
            for (PacketNumber n = 119; n < 139; ++n) bad.lost.push_back({n, 1000, kStart});
        }
        bad.persistent_timeout = sign == 2;
        start.on_feedback(bad, sign == 1 ? 6e-3 : 0.0, kMost);
        INFO(sign);
        CHECK(start.phase() == Phase::retreat);
        CHECK(start.window() == 0.0);
        CHECK(start.safe() == Approx(60'000.0));
        start.on_feedback(acked(500, 10), 0.0, kMost);
        CHECK(start.phase() == Phase::retreat);
        CHECK(start.safe() == Approx(70'000.0));
        start.on_feedback(acked(501, 1), 0.0, kMost);  // a packet behind the window
        CHECK(start.phase() == Phase::refuted);
        start.recall(known(), 100ms);
        CHECK(start.window() == 0.0);
    }
}

TEST_CASE("careful start: known jitter is not a queue") {
    UdtxCarefulStart start;
    KnownPath path = known();
    path.jitter = 10ms;
    start.recall(path, 100ms);
    send_window(start);
    start.on_feedback(acked(100, 100), 12e-3, kMost);
    CHECK(start.phase() == Phase::validating);
    start.on_feedback(acked(110, 10), 16e-3, kMost);
    CHECK(start.phase() == Phase::retreat);
}

TEST_CASE("careful start: what is sent ten minutes after the measurement does not use it") {
    UdtxCarefulStart start;
    start.recall(known(), 100ms);
    send_window(start, kStart + 9min + 1s);
    CHECK(start.phase() == Phase::none);
    CHECK(start.window() == 0.0);
}

TEST_CASE("udtx: a known path allows half of its capacity at once, within the limits of the program") {
    Udtx usual({.datagram_bytes = 1000});
    const double slow_start = static_cast<double>(usual.window());
    Udtx udtx({.datagram_bytes = 1000});
    udtx.recall(known(), 100ms);
    CHECK(udtx.window() == 500'000);
    CHECK(udtx.pacing_rate().bytes_per_second() == Approx(5e6));
    Udtx narrow({.datagram_bytes = 1000, .max_window = 200'000, .max_rate = Rate::bytes_per_second(1e6)});
    narrow.recall(known(), 100ms);
    CHECK(narrow.window() == 200'000);
    CHECK(narrow.pacing_rate().bytes_per_second() == Approx(1e6));
    // A path slower than slow start gains nothing.
    Udtx slow({.datagram_bytes = 1000});
    slow.recall({.capacity = Rate::bytes_per_second(1e5), .base_rtt = 100ms, .measured = kStart}, 100ms);
    CHECK(static_cast<double>(slow.window()) == slow_start);
    CHECK(slow.pacing_rate() == usual.pacing_rate());
}

TEST_CASE("udtx: a known path that became slower costs less than one window, and later connections know it") {
    Udtx udtx({.datagram_bytes = 1000});
    Bottleneck link(udtx, 1000.0, 100ms, 100.0);  // a tenth of what is known, and 100 ms of buffer
    udtx.recall(known(), 100ms);
    link.run(1s);
    CHECK(udtx.careful().refuted());
    REQUIRE(udtx.known_path());
    CHECK(udtx.known_path()->capacity.bytes_per_second() < 1.1e6);
    CHECK(link.lost_packets() < 500);
}

TEST_CASE("udtx: a path is known by what it delivered in steady state, and not by an application with little data") {
    for (const bool limited : {false, true}) {
        Udtx udtx({.datagram_bytes = 1000});
        Bottleneck link(udtx, 10'000.0, 40ms, 400.0);
        link.set_application_limited(limited);
        link.run(100ms);
        CHECK_FALSE(udtx.known_path());
        link.run(4s);
        INFO(limited);
        REQUIRE(udtx.state() == Udtx::State::share);
        REQUIRE(udtx.known_path().has_value() == !limited);
        if (limited) continue;
        CHECK(udtx.known_path()->capacity.bytes_per_second() == Approx(1e7).epsilon(0.1));
        CHECK(to_seconds(udtx.known_path()->base_rtt) == Approx(0.04).epsilon(0.02));
    }
}

TEST_CASE("policy high: each of its two flows recalls and tells half") {
    class Halves final : public CongestionController {
      public:
        void on_feedback(const CongestionFeedback& /*feedback*/) override {}
        [[nodiscard]] std::uint64_t window() const override { return 0; }
        [[nodiscard]] Rate pacing_rate() const override { return {}; }
        void recall(const KnownPath& path, Duration /*rtt*/) override { path_ = path; }
        [[nodiscard]] std::optional<KnownPath> known_path() const override { return path_; }

      private:
        std::optional<KnownPath> path_;
    };
    auto inner = std::make_unique<Halves>();
    const Halves& seen = *inner;
    const auto high = apply_policy(std::move(inner), {.policy = Policy::high});
    CHECK_FALSE(high->known_path());
    high->recall(known(), 100ms);
    CHECK(seen.known_path()->capacity.bytes_per_second() == Approx(5e6));
    CHECK(high->known_path()->capacity.bytes_per_second() == Approx(1e7));
}
