// Expected values were computed by hand from RFC 9438 and RFC 9406 (docs/lab/controllers.md). Datagrams of 1,000 bytes.
#include "congestion/window.hpp"

#include <cmath>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr double kSegment = 1000.0;

/// A path that acknowledges the data in flight, one window per round trip in steps of `kStep`.
struct Path {
    explicit Path(Duration round_trip = 100ms) : rtt(round_trip) {}

    CongestionFeedback feedback(double acked_segments) {
        CongestionFeedback f;
        f.now = now;
        f.smoothed_rtt = rtt;
        f.rtt_variance = 1ms;
        f.largest_sent = sent;
        f.largest_acked = acked;
        f.acked_packets = static_cast<std::uint32_t>(std::ceil(acked_segments));
        f.acked_bytes = static_cast<std::uint64_t>(acked_segments * kSegment);
        f.in_flight_before = full ? cubic.window() : cubic.window() / 4;
        f.in_flight_after = f.in_flight_before;
        f.rtt_sample = rtt;
        return f;
    }
    double segments() const { return cubic.exact_window() / kSegment; }

    /// Sends and acknowledges one window, a tenth at a time.
    void round() {
        const double window = segments();
        sent += static_cast<PacketNumber>(window);
        for (int i = 1; i <= 10; ++i) {
            now += rtt / 10;
            if (i == 10) acked = sent;
            cubic.on_feedback(feedback(window / 10));
        }
    }
    void lose() {
        CongestionFeedback f = feedback(0);
        f.lost.push_back({sent, 1000, now - rtt});
        cubic.on_feedback(f);
    }
    /// Enters congestion avoidance with a W_max of at least so many segments.
    void grow_and_lose(double at_least) {
        while (segments() < at_least) round();
        ++sent;
        lose();
    }

    CongestionOptions options{.datagram_bytes = 1000};
    Cubic cubic{options};
    Duration rtt;
    Instant now = Instant(1s);
    PacketNumber sent = 0;
    PacketNumber acked = 0;
    bool full = true;
};

}  // namespace

TEST_CASE("cubic: slow start doubles each round trip from ten segments, and paces at twice the window") {
    Path p;
    CHECK(p.cubic.window() == 10'000);
    CHECK(p.cubic.pacing_rate().is_infinite());  // the round-trip time is not known yet
    p.round();
    CHECK(p.segments() == Approx(20));
    p.round();
    CHECK(p.segments() == Approx(40));
    CHECK(p.cubic.report().slow_start);
    CHECK(p.cubic.pacing_rate().bytes_per_second() == Approx(2 * 40'000 / 0.1));
}

TEST_CASE("cubic: a loss leaves 0.7 of the window, once a round trip") {
    Path p;
    p.grow_and_lose(100);
    CHECK(p.segments() == Approx(160 * 0.7));
    CHECK(p.cubic.window_max() == Approx(160e3));
    CHECK_FALSE(p.cubic.report().slow_start);
    CHECK(p.cubic.pacing_rate().bytes_per_second() == Approx(1.25 * 112e3 / 0.1));
    p.lose();  // in the same round trip
    CHECK(p.segments() == Approx(112));
    ++p.sent;
    p.lose();
    CHECK(p.segments() == Approx(112 * 0.7));
    // Fast convergence: the second maximum was below the first, so W_max is reduced.
    CHECK(p.cubic.window_max() == Approx(112e3 * 0.85));
}

TEST_CASE("cubic: the window is back at W_max after K, flat around it, and grows beyond") {
    Path p;
    p.grow_and_lose(1000);
    const double w_max = p.cubic.window_max() / kSegment;
    const double k = std::cbrt(w_max * 0.3 / 0.4);
    p.round();  // the window grows only after an ACK of a packet sent after the reduction
    const Instant start = p.now;
    const auto elapsed = [&] { return to_seconds(p.now - start); };
    double before = p.segments();
    double first_step = 0.0;
    double smallest_step = 1e9;
    while (elapsed() < k + 0.05) {
        p.round();
        const double step = p.segments() - before;
        if (first_step == 0.0) first_step = step;
        smallest_step = std::min(smallest_step, step);
        before = p.segments();
    }
    CHECK(p.cubic.plateau_seconds() == Approx(k));
    CHECK(p.segments() == Approx(w_max).epsilon(0.01));
    CHECK(smallest_step < first_step / 20);
    while (elapsed() < 2 * k) p.round();
    // W(2K) = C K^3 + W_max = W_max + 0.3 W_max
    CHECK(p.segments() == Approx(1.3 * w_max).epsilon(0.02));
}

TEST_CASE("cubic: on short paths it grows like Reno, by alpha a round trip, and by one above the old window") {
    Path p(10ms);
    p.grow_and_lose(10);
    for (int i = 0; i < 3; ++i) p.round();
    const double alpha = 3 * 0.3 / 1.7;
    double before = p.segments();
    p.round();
    CHECK(p.segments() - before == Approx(alpha).epsilon(0.05));
    while (p.segments() < 11) p.round();
    before = p.segments();
    p.round();
    CHECK(p.segments() - before == Approx(1.0).epsilon(0.05));
}

TEST_CASE("cubic: a window that is not used does not grow, and the time does not count") {
    Path p;
    p.grow_and_lose(1000);
    for (int i = 0; i < 5; ++i) p.round();
    p.full = false;
    p.round();  // the last full window is still being acknowledged
    const double held = p.segments();
    for (int i = 0; i < 100; ++i) p.round();
    CHECK(p.segments() == held);
    p.full = true;
    p.round();
    // If the pause counted, the window would be above W_max. After one round trip it has made one concave step.
    CHECK(p.segments() < p.cubic.window_max() / kSegment);
    CHECK(p.segments() - held < 0.1 * held);
}

TEST_CASE("cubic: silence leaves two segments and a threshold, repeated silence no less") {
    Path p;
    p.grow_and_lose(100);
    CongestionFeedback silence = p.feedback(0);
    silence.persistent_timeout = true;
    p.cubic.on_feedback(silence);
    CHECK(p.cubic.window() == 2000);
    CHECK(p.cubic.slow_start_threshold() == Approx(112e3 * 0.7));
    p.cubic.on_feedback(silence);
    CHECK(p.cubic.slow_start_threshold() == Approx(112e3 * 0.7));
    p.lose();  // what was in flight at that time
    CHECK(p.cubic.window() == 2000);
    ++p.sent;
    p.acked = p.sent;
    for (int i = 0; i < 3; ++i) p.round();
    CHECK(p.segments() == Approx(16));  // slow start again
    for (int i = 0; i < 10; ++i) p.round();
    CHECK_FALSE(p.cubic.report().slow_start);
}

// As with a lost SYN (RFC 5681, section 3.1): the timeout relied on a guess of the round-trip time.
TEST_CASE("cubic: silence before anything was acknowledged leaves two segments, and slow start without a threshold") {
    Path p;
    CongestionFeedback silence = p.feedback(0);
    silence.persistent_timeout = true;
    for (int i = 0; i < 2; ++i) {
        p.cubic.on_feedback(silence);
        CHECK(p.cubic.window() == 2000);
    }
    ++p.sent;
    p.acked = p.sent;
    for (int i = 0; i < 6; ++i) p.round();
    CHECK(p.segments() == Approx(128));
}

TEST_CASE("cubic: a pause halves the window for each time-out of it, down to ten segments") {
    const auto after = [](Duration pause) {
        Path p;
        p.grow_and_lose(100);
        p.cubic.on_sent({.now = p.now, .number = 1, .bytes = 1000, .in_flight_before = 0});
        p.cubic.on_sent({.now = p.now + pause, .number = 2, .bytes = 1000, .in_flight_before = 0});
        return p.segments();
    };
    CHECK(after(90ms) == Approx(112));
    CHECK(after(110ms) == Approx(56));  // the timeout is 100 ms + 4 x 1 ms
    CHECK(after(220ms) == Approx(28));
    CHECK(after(10s) == Approx(10));
}

TEST_CASE("cubic: the datagram size changes the step, not the window") {
    Path p;
    p.grow_and_lose(100);
    p.cubic.on_limits({.datagram_bytes = 2000});
    CHECK(p.cubic.window() == 112'000);
    for (int i = 0; i < 20; ++i) {
        ++p.sent;
        p.lose();
    }
    CHECK(p.cubic.window() == 4000);
}

TEST_CASE("hystart: a constant round-trip time never ends slow start, one that grows does") {
    Path steady;
    for (int i = 0; i < 10; ++i) steady.round();
    CHECK(steady.segments() == Approx(10 * 1024));

    Path growing;
    for (int i = 0; i < 4; ++i) growing.round();
    growing.rtt += 11ms;  // the threshold is RTT/8 = 12.5 ms
    growing.round();
    CHECK(growing.segments() == Approx(320));
    growing.rtt += 14ms;  // 111 + 14 > 111 + 13.9
    growing.round();
    CHECK(growing.segments() == Approx(400).epsilon(0.1));  // from the second step on a quarter of the growth
    for (int i = 0; i < 5; ++i) growing.round();
    CHECK_FALSE(growing.cubic.report().slow_start);
    CHECK(growing.cubic.slow_start_threshold() < 320e3 * std::pow(1.25, 6) * 1.1);
}

TEST_CASE("hystart: a blip leads back to slow start") {
    Path p;
    for (int i = 0; i < 4; ++i) p.round();
    p.rtt += 20ms;
    p.round();
    p.rtt -= 20ms;
    p.round();
    const double before = p.segments();
    p.round();
    CHECK(p.segments() == Approx(2 * before));
    for (int i = 0; i < 5; ++i) p.round();
    CHECK(p.cubic.report().slow_start);
}
