// Expected values were computed by hand from the equations in docs/lab/controllers.md. Datagrams have 1,472 bytes, so
// UDT's MSS (with IPv4 and UDP headers) is 1,500.
#include "congestion/udt.hpp"

#include <cmath>
#include <set>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using udtx::congestion::Udt;
using udtx::congestion::UdtForm;

namespace {

CongestionOptions options(std::uint64_t seed = 1) {
    CongestionOptions o;
    o.datagram_bytes = 1472;
    o.seed = seed;
    return o;
}

struct Driver {
    explicit Driver(const CongestionOptions& o = options(), UdtForm form = UdtForm::v4_11) : udt(o, form) {}

    CongestionFeedback base(Duration advance) {
        now += advance;
        CongestionFeedback f;
        f.now = now;
        f.smoothed_rtt = 100ms;
        f.largest_sent = largest_sent;
        return f;
    }
    void ack(Duration advance, std::uint32_t packets, double arrival = 0.0, double capacity = 0.0) {
        CongestionFeedback f = base(advance);
        f.acked_packets = packets;
        f.acked_bytes = packets * 1472ULL;
        if (arrival > 0.0 || capacity > 0.0)
            f.line = LineEstimate{.pair_capacity = Rate::bytes_per_second(capacity * 1472), .arrival_pps = arrival};
        udt.on_feedback(f);
    }
    /// Reports a pair of this capacity, and acknowledges nothing.
    void ack_pair(double capacity) {
        CongestionFeedback f = base(10ms);
        f.line = LineEstimate{.newest_pair = Rate::bytes_per_second(capacity * 1472)};
        udt.on_feedback(f);
    }
    void loss(PacketNumber first, PacketNumber sent_so_far) {
        largest_sent = sent_so_far;
        CongestionFeedback f = base(1ms);
        f.lost.push_back({first, 1472, now - 100ms});
        udt.on_feedback(f);
    }
    /// Ends slow start at `arrival` packets/s with an MTR of `capacity`.
    void settle(double arrival, double capacity) {
        ack(10ms, 1, arrival, capacity);
        loss(1, 2);
    }

    Udt udt;
    Instant now = Instant(1s);
    PacketNumber largest_sent = 0;
};

constexpr double pps(double bits_per_second) { return bits_per_second / 12'000.0; }

}  // namespace

TEST_CASE("udt: increase per SYN is a power of ten of the available bandwidth") {
    const auto inc = [](double bits) { return Udt::increase_per_syn(pps(bits), 1500); };
    CHECK(inc(0.99e9) == Approx(1.0));  // up to 1 Gbit/s: one packet of 1,500 bytes
    CHECK(inc(1.01e9) == Approx(10.0));
    CHECK(inc(9.9e9) == Approx(10.0));
    CHECK(inc(99e6) == Approx(0.1));
    CHECK(inc(9.9e6) == Approx(0.01));
    CHECK(inc(1e3) == Approx(0.01));  // the minimum
    CHECK(inc(0.0) == Approx(0.01));
    CHECK(inc(-5e6) == Approx(0.01));
    CHECK(Udt::increase_per_syn(0.99e9 / (9000 * 8), 9000) == Approx(1.0 / 6));
}

TEST_CASE("udt: slow start grows by what was acknowledged, at most once a SYN, without pacing") {
    Driver d;
    CHECK(d.udt.window() == 16 * 1472);
    CHECK(d.udt.pacing_rate().is_infinite());
    CHECK(d.udt.report().slow_start);
    d.ack(0ms, 10);
    CHECK(d.udt.window_packets() == 26);
    d.ack(5ms, 10);
    CHECK(d.udt.window_packets() == 26);
    d.ack(5ms, 6);
    CHECK(d.udt.window_packets() == 42);
}

TEST_CASE("udt: slow start ends above the flow window") {
    CongestionOptions o = options();
    o.max_window = 100 * 1472;
    Driver d(o);
    d.ack(10ms, 84);
    CHECK(d.udt.report().slow_start);  // 100 packets are not above the window
    d.ack(10ms, 1, 4000, 0);
    CHECK_FALSE(d.udt.report().slow_start);
    // P = 1 / 4000 s = 250 us, then one increase by the minimum: 250 x 10000 / (250 x 0.01 + 10000)
    CHECK(d.udt.period_us() == Approx(2.5e6 / 10002.5));
    CHECK(d.udt.window() == 100 * 1472);
}

TEST_CASE("udt: the first loss ends slow start at the arrival speed") {
    Driver d;
    d.settle(10'000, 0);
    CHECK(d.udt.period_us() == Approx(100));  // without an additional decrease
    CHECK(d.udt.pacing_rate().bps() == Approx(10'000 * 1472 * 8.0));
    d.ack(10ms, 1);
    CHECK(d.udt.window_packets() == Approx(10'000 * 0.110 + 16));  // R x (RTT + SYN) + 16
}

TEST_CASE("udt: without an arrival speed the window says the rate, the right way up") {
    Driver d;
    d.loss(1, 2);
    CHECK(d.udt.period_us() == Approx(110'000.0 / 16 * 1.125));  // (RTT + SYN) / window, then the decrease
}

TEST_CASE("udt: period update from the available bandwidth") {
    Driver d;
    d.settle(5000, 10'000);
    CHECK(d.udt.mtr_pps() == Approx(10'000));
    d.ack(10ms, 1);
    // P = 200 is above P_lastdec = 1: B = min(5000, 10000 / 9) packets/s = 13.3 Mbit/s, so 0.1 packets per SYN.
    CHECK(d.udt.period_us() == Approx(200.0 * 10'000 / (200 * 0.1 + 10'000)));
    const CongestionReport report = d.udt.report();
    CHECK(report.mtr.bps() == Approx(10'000 * 1472 * 8.0));
    CHECK(report.available.bps() == Approx(report.mtr.bps() - d.udt.pacing_rate().bps()));
}

TEST_CASE("udt as printed: all the room counts, pairs one by one, a loss event once, and a floor of 1/1500") {
    Driver d(options(), UdtForm::printed);
    d.ack_pair(10'000);
    d.settle(5000, 20'000);  // the filtered capacity is not used
    CHECK(d.udt.mtr_pps() == Approx(10'000));
    d.ack(10ms, 1);
    // B = 5000 packets/s = 60 Mbit/s, not bounded by MTR/9: 0.1 packets per SYN
    CHECK(d.udt.period_us() == Approx(200.0 * 10'000 / (200 * 0.1 + 10'000)));
    d.ack_pair(18'000);
    CHECK(d.udt.mtr_pps() == Approx(11'000));
    const double before = d.udt.period_us();
    d.loss(50, 100);
    CHECK(d.udt.period_us() == Approx(before * 1.125));
    for (int i = 0; i < 5; ++i) d.loss(60, 100);
    CHECK(d.udt.period_us() == Approx(before * 1.125));
    CHECK(Udt::increase_per_syn(0.0, 1500, UdtForm::printed) == Approx(1.0 / 1500));
    CHECK(Udt::increase_per_syn(pps(0.9e6), 1500, UdtForm::printed) == Approx(0.001));
}

TEST_CASE("udt: a SYN without growth follows each loss") {
    Driver d;
    d.settle(5000, 10'000);
    d.ack(10ms, 1);
    d.loss(10, 20);
    const double decreased = d.udt.period_us();
    d.ack(10ms, 1);
    CHECK(d.udt.period_us() == decreased);
    d.ack(10ms, 1);
    CHECK(d.udt.period_us() < decreased);
}

TEST_CASE("udt: at most five decreases an epoch, then none until a number sent later is lost") {
    Driver d;
    d.settle(5000, 10'000);
    d.loss(50, 100);  // starts an epoch
    CHECK(d.udt.period_us() == Approx(200 * 1.125));
    CHECK(d.udt.decrease_random() == 1);  // avgNAK is still 0
    for (int i = 2; i <= 5; ++i) {
        d.loss(60, 100);
        CHECK(d.udt.period_us() == Approx(200 * std::pow(1.125, i)));
    }
    for (int i = 0; i < 20; ++i) d.loss(60, 100);
    CHECK(d.udt.period_us() == Approx(200 * std::pow(1.125, 5)));
    d.loss(101, 150);
    CHECK(d.udt.period_us() == Approx(200 * std::pow(1.125, 6)));
    CHECK(d.udt.average_naks() == 1);  // ceil(0.875 x 0 + 0.125 x 5)
}

TEST_CASE("udt: DecRandom is uniform in 1..avgNAK and thins out the decreases of an epoch") {
    std::set<int> seen;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        Driver d(options(seed));
        d.settle(5000, 10'000);
        PacketNumber sent = 100;
        const int averages[] = {0, 1, 2, 3, 4, 5, 5};  // ceil(0.875 avg + 0.125 x 5)
        for (const int average : averages) {
            d.loss(sent, sent + 100);
            sent += 101;
            REQUIRE(d.udt.average_naks() == average);
            REQUIRE(d.udt.decrease_random() >= 1);
            REQUIRE(d.udt.decrease_random() <= std::max(average, 1));
            const double start = d.udt.period_us();
            for (int i = 0; i < 4; ++i) d.loss(sent - 1, sent - 1);
            // For reports 2 to 5 of the epoch, every DecRandom-th causes a decrease.
            const int expected = 5 / d.udt.decrease_random() - (d.udt.decrease_random() == 1 ? 1 : 0);
            REQUIRE(d.udt.period_us() == Approx(start * std::pow(1.125, expected)));
        }
        seen.insert(d.udt.decrease_random());
    }
    CHECK(seen == std::set<int>{1, 2, 3, 4, 5});
}

TEST_CASE("udt: estimates are smoothed by 7/8 once a SYN, zero means unknown") {
    Driver d;
    d.ack(10ms, 1, 8000, 16'000);
    CHECK(d.udt.arrival_pps() == Approx(8000));
    d.ack(5ms, 1, 16'000, 32'000);
    CHECK(d.udt.arrival_pps() == Approx(8000));
    d.ack(5ms, 1, 16'000, 32'000);
    CHECK(d.udt.arrival_pps() == Approx(9000));
    CHECK(d.udt.mtr_pps() == Approx(18'000));
    d.ack(10ms, 1, 0, 18'000);
    CHECK(d.udt.arrival_pps() == Approx(9000));
}

TEST_CASE("udt: the time-out ends slow start and otherwise leaves the rate alone") {
    Driver d;
    d.ack(10ms, 1, 10'000, 0);
    CongestionFeedback exp = d.base(1s);
    exp.persistent_timeout = true;
    exp.lost.push_back({5, 1472, d.now - 1s});
    d.udt.on_feedback(exp);
    CHECK_FALSE(d.udt.report().slow_start);
    CHECK(d.udt.period_us() == Approx(100));
    exp.now += 1s;
    d.udt.on_feedback(exp);
    CHECK(d.udt.period_us() == Approx(100));
}

TEST_CASE("udt: the user's cap holds and keeps the period within reach") {
    CongestionOptions o = options();
    o.max_rate = Rate::bytes_per_second(1472 * 1000);  // P = 1000 us
    Driver d(o);
    CHECK(d.udt.pacing_rate().bps() == Approx(o.max_rate.bps()));  // also in slow start
    d.settle(5000, 10'000);
    CHECK(d.udt.pacing_rate().bps() == Approx(o.max_rate.bps()));
    CHECK(d.udt.period_us() == Approx(1000));
    d.loss(50, 100);
    CHECK(d.udt.period_us() == Approx(1125));  // a decrease takes effect
}

TEST_CASE("udt: a new datagram size keeps rate and window in bytes") {
    Driver d;
    d.settle(5000, 10'000);
    d.ack(10ms, 1);
    const double rate = d.udt.pacing_rate().bps();
    const double mtr = d.udt.report().mtr.bps();
    const auto window = static_cast<double>(d.udt.window());
    d.udt.on_limits({.datagram_bytes = 8972});
    CHECK(d.udt.pacing_rate().bps() == Approx(rate));
    CHECK(d.udt.report().mtr.bps() == Approx(mtr));
    CHECK(static_cast<double>(d.udt.window()) == Approx(window).epsilon(0.001));
    // Pairs of packets of the old size still give the same capacity.
    d.ack(10ms, 1, 0, 10'000);
    CHECK(d.udt.report().mtr.bps() == Approx(mtr));
}

TEST_CASE("udt: reaches most of a clean 1 Gbit/s line in about 7.5 s") {
    Driver d;
    d.settle(pps(1e6), pps(1e9));
    // The first decrease sets P_lastdec. Once the period is below it, the full difference MTR - rate counts.
    d.loss(50, 100);
    double seconds = 0.0;
    while (d.udt.pacing_rate().bps() < 0.9e9 * 1472 / 1500 && seconds < 60.0) {
        d.ack(10ms, 10);
        seconds += 0.01;
    }
    CHECK(seconds > 7.0);
    CHECK(seconds < 9.0);
}

TEST_CASE("a cap set while the connection runs holds in slow start, slows a faster rate and lets it grow again") {
    Driver d;
    d.udt.on_limits({.datagram_bytes = 1472, .max_rate = Rate::bits_per_second(10e6)});
    CHECK(d.udt.pacing_rate().bps() == Approx(10e6));
    d.settle(pps(100e6), pps(200e6));
    CHECK(d.udt.pacing_rate().bps() == Approx(10e6));
    d.udt.on_limits({.datagram_bytes = 1472, .max_rate = Rate::infinite()});
    for (int i = 0; i < 100; ++i) d.ack(10ms, 10, pps(100e6), pps(200e6));
    CHECK(d.udt.pacing_rate().bps() > 11e6);
    const double faster = d.udt.pacing_rate().bps();
    d.udt.on_limits({.datagram_bytes = 1472, .max_rate = Rate::bits_per_second(faster / 2)});
    CHECK(d.udt.period_us() == Approx(1472 * 8e6 / (faster / 2)));
}
