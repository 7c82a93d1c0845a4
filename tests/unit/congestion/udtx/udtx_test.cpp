// The parts of udtx, each by itself. tests/scenario/udtx_test.cpp tests the whole controller.
#include "congestion/udtx/udtx.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "test/catch.hpp"
#include "wire/frame.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::congestion;

namespace {

constexpr Instant kStart = Instant(1h);
constexpr Duration kClocks = 5h;  // offset of the receiver's clock

CongestionFeedback feedback(Duration at) {
    CongestionFeedback f;
    f.now = kStart + at;
    return f;
}

/// An ACK of one packet with this one-way delay. The packet was sent an RTT of 50 ms ago.
CongestionFeedback arrival(Duration at, PacketNumber number, Duration delay) {
    CongestionFeedback f = feedback(at);
    f.acked_packets = 1;
    f.rtt_sample = 50ms;
    f.arrivals.push_back({number, f.now - 50ms, delay + kClocks});
    return f;
}

/// An ACK of 50 packets that reports five more as lost.
CongestionFeedback lossy(Duration at) {
    CongestionFeedback f = feedback(at);
    f.acked_packets = 50;
    f.lost.resize(5);
    return f;
}

}  // namespace

TEST_CASE("sliding extreme: forgets after its length") {
    SlidingExtreme<int, std::less<>> least(10s);
    CHECK_FALSE(least.value(kStart));
    least.add(kStart, 5);
    least.add(kStart + 4s, 7);
    CHECK(least.value(kStart + 9s) == 5);
    CHECK(least.value(kStart + 9s, 6s) == 7);
    CHECK_FALSE(least.value(kStart + 9s, 2s));
    CHECK(least.value(kStart + 12s) == 7);
    CHECK_FALSE(least.value(kStart + 20s));
}

TEST_CASE("udtx delay: the queue is what comes on top of the base, whatever the clocks") {
    UdtxDelay delay;
    delay.on_feedback(arrival(0ms, 0, 25ms), 1e-4, {});
    CHECK(delay.queue() == 0.0);
    delay.on_feedback(arrival(10ms, 8, 31ms), 1e-4, {});
    CHECK(delay.queue() == Approx(5.6e-3));  // minus the dead zone of 0.4 ms
    CHECK(delay.smoothed() > 0.0);
    CHECK(delay.smoothed() < delay.queue());
    CHECK(delay.base_rtt() == Approx(0.05));
}

TEST_CASE("udtx delay: a clock that drifts by 100 ppm does not look like a queue") {
    for (const int ppm : {100, -100}) {
        UdtxDelay delay;
        for (int i = 0; i < 12'000; ++i) {
            const Duration at = 10ms * i;
            delay.on_feedback(arrival(at, static_cast<PacketNumber>(i), 25ms + at * ppm / 1'000'000), 1e-4, {});
            REQUIRE(delay.queue() < 1e-3);  // 10 s of base lifetime x 100 ppm, minus the dead zone
        }
    }
}

TEST_CASE("udtx delay: of a batch with one stamp the last packet counts") {
    UdtxDelay delay;
    delay.on_feedback(arrival(0ms, 0, 25ms), 1e-4, {});
    CongestionFeedback f = feedback(20ms);
    const Instant stamp = f.now;
    for (PacketNumber n = 0; n < 64; n += 9) {  // sent 0.1 ms apart, all with one receive timestamp
        const Instant sent = stamp - 25ms - (63 - n) * 100us;
        f.arrivals.push_back({n + 1, sent, stamp + kClocks - sent});
    }
    delay.on_feedback(f, 1e-4, {});
    CHECK(delay.queue() == 0.0);
}

TEST_CASE("udtx delay: a lost packet has the longer delay of its neighbours") {
    UdtxDelay delay;
    delay.on_feedback(arrival(0ms, 10, 20ms), 1e-4, {});
    delay.on_feedback(arrival(10ms, 20, 28ms), 1e-4, {});
    delay.on_feedback(arrival(20ms, 30, 22ms), 1e-4, {});
    CHECK(delay.queue_around(15) == Approx(8e-3));
    CHECK(delay.queue_around(25) == Approx(8e-3));
    CHECK(delay.queue_around(31) == Approx(2e-3));
    CHECK(delay.queue_around(5) == Approx(0.0));
}

TEST_CASE("udtx delay: who learns of a lower base learns that the full queue is longer") {
    UdtxDelay delay;
    delay.on_feedback(arrival(0ms, 10, 30ms), 1e-4, {});
    delay.on_feedback(arrival(10ms, 20, 40ms), 1e-4, {});
    delay.note_full(kStart + 10ms, delay.queue_around(15));
    delay.on_feedback(arrival(20ms, 30, 40ms), 1e-4, {});
    REQUIRE(delay.full());
    CHECK(*delay.full() == Approx(10e-3));
    delay.on_feedback(arrival(30ms, 40, 20ms), 1e-4, {});
    CHECK(*delay.full() == Approx(20e-3));
    CHECK(delay.highest() == Approx(20e-3));
}

TEST_CASE("udtx loss: what strikes long and short queues alike is random") {
    UdtxLoss loss;
    for (int i = 0; i < 500; ++i) {
        loss.on_feedback(kStart + 10ms * i, {.high = 10, .high_lost = 0.2, .low = 90, .low_lost = 1.8}, 0.05);
    }
    CHECK(loss.random() == Approx(0.02));
    CHECK(loss.congestion() == Approx(0.0).margin(1e-9));
    CHECK(loss.total() == Approx(0.02));
}

TEST_CASE("udtx loss: what strikes long queues alone is congestion") {
    UdtxLoss loss;
    for (int i = 0; i < 500; ++i) {
        loss.on_feedback(kStart + 10ms * i, {.high = 50, .high_lost = 5, .low = 50, .low_lost = 0}, 0.05);
    }
    CHECK(loss.random() == 0.0);
    CHECK(loss.congestion() > 0.04);  // of all packets, minus two standard deviations
    CHECK(loss.congestion() <= 0.05);
}

TEST_CASE("udtx loss: without short queues random loss is forgotten") {
    UdtxLoss loss;
    for (int i = 0; i < 200; ++i) loss.on_feedback(kStart + 10ms * i, {.low = 100, .low_lost = 10}, 0.05);
    CHECK(loss.random() == Approx(0.1));
    for (int i = 200; i < 3000; ++i) loss.on_feedback(kStart + 10ms * i, {.high = 100, .high_lost = 10}, 0.05);
    CHECK(loss.random() < 0.01);
    CHECK(loss.congestion() > 0.05);
}

TEST_CASE("udtx loss: counted anew, what was lost before is forgotten") {
    UdtxLoss loss;
    for (int i = 0; i < 200; ++i) loss.on_feedback(kStart + 10ms * i, {.high = 90, .high_lost = 20, .low = 10}, 0.05);
    CHECK(loss.total() > 0.15);
    loss.restart();
    CHECK(loss.total() == 0.0);
    loss.on_feedback(kStart + 2s, {.high = 100, .high_lost = 1}, 0.05);
    CHECK(loss.total() == Approx(0.01));
}

TEST_CASE("udtx share: a queue that stays halves the share for each q_h; one that passes counts less") {
    UdtxShare share;
    UdtxShare::Now now{.dt = 0.01, .rtt = 0.1, .queue = 5e-3, .half_delay = 5e-3};
    share.update(now);
    CHECK(share.share() == Approx(0.5));
    now.queue = 10e-3;
    share.update(now);
    CHECK(share.share() < 0.5);
    CHECK(share.share() > 0.4);
    for (int i = 0; i < 1000; ++i) share.update(now);
    CHECK(share.share() == Approx(0.25).epsilon(0.01));
}

TEST_CASE("udtx share: loss counts while the queue is long, up to where all flows aim alike") {
    const auto at = [](double queue, double loss, std::optional<double> full) {
        UdtxShare share;
        share.update({.dt = 0.01, .rtt = 0.1, .queue = queue, .half_delay = 4e-3, .loss = loss, .full = full});
        return share.share() / std::exp2(-queue / 4e-3);
    };
    CHECK(at(18e-3, 0.02, 20e-3) == Approx(0.5));
    CHECK(at(4e-3, 0.02, 20e-3) == Approx(1.0));
    CHECK(at(4e-3, 0.02, std::nullopt) == Approx(0.5));
    CHECK(at(18e-3, 0.3, 20e-3) == Approx(0.25));
}

TEST_CASE("udtx share: the mean queue moves with the base") {
    UdtxShare share;
    UdtxShare::Now now{.dt = 0.0, .rtt = 0.1, .queue = 1e-3, .base = 30ms, .half_delay = 5e-3};
    share.update(now);
    now.base = 25ms;
    now.queue = 6e-3;
    share.update(now);
    CHECK(share.share() == Approx(std::exp2(-6.0 / 5.0)));
}

TEST_CASE("udtx: what a peer may claim at the most makes no rate that the pacer could not count") {
    Udtx udtx({.datagram_bytes = 1000});
    for (int i = 1; i < 100; ++i) {
        CongestionFeedback f = arrival(10ms * i, static_cast<PacketNumber>(i), 25ms);
        f.acked_bytes = 1000;
        f.line = LineEstimate{.capacity = Rate::bytes_per_second(65535 * 0x1p62)};
        udtx.on_feedback(f);
        REQUIRE(udtx.window() <= CongestionOptions().max_window);
        if (i > 1) REQUIRE(udtx.pacing_rate().bytes_per_second() < 1e13);
    }
    CHECK(udtx.mtr().mtr() == 1e12);
}

TEST_CASE("udtx delay: receive times from one end of their range to the other fit") {
    constexpr Duration kMost = std::chrono::microseconds(wire::kMaxMicroseconds);
    UdtxDelay delay;
    for (const Duration stamp : {-kMost, kMost, -kMost}) {
        CongestionFeedback f = feedback(10ms);
        f.rtt_sample = 50ms;
        f.arrivals.push_back({1, f.now, stamp - f.now.time_since_epoch()});
        delay.on_feedback(f, 1e-4, {});
        CHECK(delay.queue_around(1) >= 0.0);
        if (stamp > 0ns) CHECK(delay.queue() == Approx(2.0 * to_seconds(kMost)));
    }
    CHECK(delay.queue() == 0.0);
}

TEST_CASE("udtx trial: a policer loses less at half the rate, a noisy line does not") {
    for (const bool policer : {true, false}) {
        UdtxTrial trial;
        int i = 0;
        while (i < 300 && !trial.due(lossy(10ms * i), 0.1)) ++i;
        CHECK(i >= 100);
        REQUIRE(i < 300);
        REQUIRE(trial.factor() == 0.5);
        auto verdict = UdtxTrial::Verdict::none;
        for (; i < 600 && verdict == UdtxTrial::Verdict::none; ++i) {
            CongestionFeedback f = lossy(10ms * i);
            if (policer) f.lost.clear();
            verdict = trial.on_feedback(f, 0.05);
        }
        CHECK(verdict == (policer ? UdtxTrial::Verdict::congestion : UdtxTrial::Verdict::random));
        CHECK(trial.factor() == 1.0);
        const int end = i;
        while (i < 3000 && !trial.due(lossy(10ms * i), 0.1)) ++i;
        CHECK(i - end == Approx(400).margin(2));
    }
}

TEST_CASE("udtx trial: a burst of losses that is over starts none") {
    UdtxTrial trial;
    for (int i = 0; i < 300; ++i) {
        CongestionFeedback f = lossy(10ms * i);
        if (i >= 60) f.lost.clear();
        REQUIRE_FALSE(trial.due(f, 0.1));
    }
}

TEST_CASE("udtx trial: given up, the next one waits a second again") {
    UdtxTrial trial;
    int i = 0;
    while (!trial.due(lossy(10ms * i), 0.1)) REQUIRE(++i < 300);
    trial.abandon();
    const int begun = i;
    while (!trial.due(lossy(10ms * ++i), 0.1)) REQUIRE(i < begun + 200);
    CHECK(i - begun >= 100);
}

TEST_CASE("udtx: a longer path is a new base, whatever the receiver's clock") {
    for (const Duration clocks : {Duration(-24h), Duration(24h)}) {
        const int change = GENERATE(300, 350, 400, 450);  // before and after a drain
        Udtx udtx({.datagram_bytes = 1000});
        bool longer = false;
        for (int i = 1; i < change + 400; ++i) {
            CongestionFeedback f = feedback(10ms * i);
            const Duration there = i < change ? 25ms : 85ms;
            f.acked_packets = 100;
            f.acked_bytes = 100'000;
            f.smoothed_rtt = there + 25ms;
            f.rtt_sample = f.smoothed_rtt;
            f.one_way_delay = there + clocks;
            f.arrivals.push_back({PacketNumber(100 * i), f.now - there - 25ms, there + clocks});
            f.delivery = DeliverySample{.rate = Rate::bytes_per_second(1e7), .interval = f.smoothed_rtt};
            f.line = LineEstimate{.capacity = Rate::bytes_per_second(1e7), .error = 0.01};
            udtx.on_feedback(f);
            longer = longer || (i > change + 100 && udtx.delay().queue() == 0.0);
        }
        INFO(clocks / 1h << " h, " << change);
        CHECK(longer);
        CHECK(udtx.rate() > 0.5e7);
    }
}

TEST_CASE("udtx: a new cap is the cap") {
    Udtx udtx({.max_rate = Rate::bits_per_second(8e6)});
    CHECK(udtx.pacing_rate() == Rate::bits_per_second(8e6));
    udtx.on_limits({.max_rate = Rate::bits_per_second(40e6)});
    CHECK(udtx.pacing_rate() == Rate::bits_per_second(40e6));
    udtx.on_limits({.max_rate = Rate::bits_per_second(2e6)});
    CHECK(udtx.pacing_rate() == Rate::bits_per_second(2e6));
}

namespace {

/// A udtx flow of 10 MB/s, 50 ms and optionally 5 % loss. An ACK of 100 packets arrives each SYN.
class LossyUdtx {
  public:
    explicit LossyUdtx(double line = 1e7) : line_(line) {}
    /// The delay is `queue` above the base in every second ACK, and a sixteenth more in the others.
    void step(Duration queue, bool losses, bool marks = false) {
        ++steps_;
        const Duration here = steps_ % 2 == 0 ? queue : queue * 17 / 16;
        CongestionFeedback f = arrival(10ms * steps_, number_, 25ms + here);
        f.acked_packets = 100;
        f.acked_bytes = 100'000;
        f.largest_acked = number_;
        f.largest_sent = number_ + 500;
        f.line = LineEstimate{.capacity = Rate::bytes_per_second(line_)};
        f.delivery = DeliverySample{Rate::bytes_per_second(10e6), 50ms, false};
        for (PacketNumber lost = 0; (losses || marks) && lost < 5; ++lost)
            f.lost.push_back({number_ - 50 + lost, 1000, f.now, marks});
        number_ += 100;
        udtx.on_feedback(f);
    }
    [[nodiscard]] bool halved() const { return udtx.pacing_rate().bytes_per_second() < 0.7 * udtx.rate(); }
    [[nodiscard]] int steps() const { return steps_; }

    Udtx udtx{{.datagram_bytes = 1000}};

  private:
    double line_;
    int steps_ = 0;
    PacketNumber number_ = 100;
};

}  // namespace

TEST_CASE("udtx: marks are congestion at any delay, and need no trial") {
    LossyUdtx marked;
    LossyUdtx lossy;
    while (marked.steps() < 300) {
        marked.step(0ms, false, true);
        lossy.step(0ms, true);
        REQUIRE(marked.udtx.state() != Udtx::State::trial);
    }
    CHECK(marked.udtx.loss().random() == 0.0);
    CHECK(marked.udtx.loss().congestion() > 0.03);
    CHECK(lossy.udtx.loss().random() > 0.03);
    CHECK(lossy.udtx.loss().congestion() < 0.001);
    CHECK(marked.udtx.rate() < 0.7 * lossy.udtx.rate());
}

TEST_CASE("udtx: a trial before competing does not lower the rate from then on") {
    int trial = 0;
    for (LossyUdtx probe(2e7); trial == 0 && probe.steps() < 1000; trial = probe.halved() ? probe.steps() : 0) {
        probe.step(0ms, true);
    }
    REQUIRE(trial > 100);
    LossyUdtx line(2e7);  // half of it is delivered, so others exist
    while (line.steps() < trial - 90) line.step(0ms, true);
    // The queue grows, because a constant delay would look like a longer path.
    const auto queue = [&line, start = line.steps()] { return 40ms + 150us * (line.steps() - start); };
    while (line.udtx.state() != Udtx::State::claim && line.steps() < trial + 120) line.step(queue(), false);
    REQUIRE(line.udtx.state() == Udtx::State::claim);
    for (int i = 0; i < 100; ++i) {
        line.step(queue(), false);
        REQUIRE(line.udtx.state() != Udtx::State::share);
        if (line.udtx.state() != Udtx::State::drain) REQUIRE_FALSE(line.halved());
    }
}

TEST_CASE("udtx: drains two seconds after the packet that met the shortest queue was sent, five where it is alone") {
    for (const auto& [line_rate, interval] : {std::pair{2e7, 200}, {1e7, 500}}) {
        LossyUdtx line(line_rate);
        std::vector<int> begun;  // in SYN intervals
        bool before = false;
        while (line.steps() < 1300) {
            const bool shorter = line.steps() == 599;  // once, in the next step
            line.step(line.steps() < 200 ? 0ms : shorter ? 2000us : 3300us, false);
            if (line.udtx.state() == Udtx::State::drain && !before) begun.push_back(line.steps());
            before = line.udtx.state() == Udtx::State::drain;
        }
        INFO(interval << ": " << Catch::Detail::stringify(begun));
        const auto after = [&, due = 600 + interval](int step) { return step >= due - 5 && step <= due; };
        CHECK(std::any_of(begun.begin(), begun.end(), after));
        for (std::size_t i = 1; i < begun.size(); ++i) CHECK(begun[i] - begun[i - 1] >= interval - 5);
    }
}

TEST_CASE("udtx: a search for the rate of a link whose trains differ ends when the application has too little data") {
    Udtx udtx({.datagram_bytes = 1000});
    int steps = 0;
    double bytes = 100'000;  // in each ACK
    const auto step = [&](bool limited) {
        ++steps;
        CongestionFeedback f = arrival(10ms * steps, static_cast<PacketNumber>(100 * steps), 25ms);
        f.acked_packets = 100;
        f.acked_bytes = static_cast<std::uint64_t>(bytes);
        f.application_limited = limited;
        f.line = LineEstimate{.capacity = Rate::bytes_per_second(steps % 50 == 0 ? 8e7 : 1e7)};
        f.delivery = DeliverySample{Rate::bytes_per_second(bytes * 100.0), 50ms, limited};
        udtx.on_feedback(f);
    };
    for (int i = 0; i < 49; ++i) step(false);
    while (!udtx.report().slow_start && steps < 500) step(false);
    REQUIRE(udtx.report().slow_start);
    const double found = udtx.rate();
    step(true);
    CHECK_FALSE(udtx.report().slow_start);
    CHECK(udtx.rate() >= 0.9 * found);
    for (int i = 0; i < 300; ++i) {
        step(true);
        REQUIRE_FALSE(udtx.report().slow_start);
    }
    bytes *= 2.0;
    for (int i = 0; i < 30 && !udtx.report().slow_start; ++i) step(false);
    CHECK(udtx.report().slow_start);
}
