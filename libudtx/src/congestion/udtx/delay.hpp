// What udtx knows of delays: the base, the queue above it, and the queue around each lost packet.
//
// All from one-way delays, so that a busy way back does not look like a queue. docs/inside/congestion.md, `udtx`.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>

#include "base/sliding_extreme.hpp"
#include "congestion/udtx/jitter.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

class UdtxDelay {
  public:
    /// `packet_time`: line time of one packet (Lp), seconds; 0 when unknown. `jitter`: of the way, seconds.
    void on_feedback(const CongestionFeedback& feedback, double packet_time, double jitter = 0.0);
    /// What timers, interrupts and own bursts add to a delay, seconds: no queue.
    [[nodiscard]] static double dead_zone(double packet_time);

    [[nodiscard]] bool known() const noexcept { return base_.has_value(); }
    /// Queueing delay now (q), and smoothed over rb/4 (qf), seconds.
    [[nodiscard]] double queue() const noexcept { return queue_; }
    [[nodiscard]] double smoothed() const noexcept { return smoothed_; }
    /// What jitter adds to the delay, by which q is smaller; seconds.
    [[nodiscard]] double noise() const noexcept { return noise_.height(); }
    /// Largest q of the last 5 s, seconds.
    [[nodiscard]] double highest() const noexcept { return highest_; }
    /// From here on a queue is one of the long ones, seconds.
    [[nodiscard]] double long_queue(double packet_time) const;
    /// What acknowledgements wait on their way back, smoothed; seconds.
    [[nodiscard]] double way_back() const noexcept { return way_back_; }
    /// Smallest RTT of the last 10 s (rb), seconds.
    [[nodiscard]] double base_rtt() const noexcept { return base_rtt_; }
    /// Base one-way delay; only differences mean anything.
    [[nodiscard]] Duration base() const noexcept { return base_.value_or(Duration::zero()); }
    /// The larger queueing delay of the packets seen before and after this (lost) one.
    [[nodiscard]] double queue_around(PacketNumber number) const;
    /// A packet was dropped by a full queue of this delay. It is kept from the clocks' zero on: a newcomer measures it
    /// against a base that it will yet have to correct.
    void note_full(Instant now, double queue) { fulls_.add(now, base() + from_seconds(queue)); }
    /// A packet was lost, for whatever reason, with this queue around it; kept from the clocks' zero on, too.
    void note_lost(Instant now, double queue);
    /// The longest of those queues of 10 s by today's base, if the last few were as a rule about as long and clearly
    /// longer than `usual`: what is lost at random, or to a policer, has no such queue around it. Seconds, else 0.
    [[nodiscard]] double lost_at(Instant now, double usual) const;
    /// Delay of the full queue, if it overflowed lately; seconds.
    [[nodiscard]] std::optional<double> full() const noexcept { return full_; }
    /// Highest less lowest queue of the last second, seconds.
    [[nodiscard]] double range() const noexcept { return range_; }
    /// Keeps the base for longer than its life, while others keep the queue from emptying.
    void hold_base(bool hold) noexcept { hold_ = hold; }
    /// The path has changed: what is measured from now on is the base.
    void forget_base();

  private:
    struct Point {
        PacketNumber number = 0;
        Duration delay{};
    };
    static constexpr std::size_t kPoints = 512;
    static constexpr Duration kBaseLife = std::chrono::seconds(10);
    static constexpr Duration kFullLife = std::chrono::seconds(30);
    static constexpr Duration kHighestLife = std::chrono::seconds(5);

    [[nodiscard]] std::optional<double> above_base(std::optional<Duration> delay) const;
    void take_way_back(const CongestionFeedback& feedback);
    void take_arrivals(const CongestionFeedback& feedback, double packet_time, double jitter);

    SlidingExtreme<Duration, std::less<>> bases_{kBaseLife};
    SlidingExtreme<Duration, std::less<>> rtts_{kBaseLife};
    SlidingExtreme<Duration, std::greater<>> highs_{kHighestLife};
    SlidingExtreme<Duration, std::greater<>> fulls_{kFullLife};
    std::optional<double> full_;
    SlidingExtreme<Duration, std::greater<>> losses_{kBaseLife};
    std::optional<Duration> mean_loss_;
    SlidingExtreme<double, std::less<>> last_lows_{std::chrono::seconds(1)};
    SlidingExtreme<double, std::greater<>> last_highs_{std::chrono::seconds(1)};
    double range_ = 0.0;
    bool hold_ = false;
    std::optional<Duration> base_;
    JitterNoise noise_;
    double base_rtt_ = 0.0;
    double way_back_ = 0.0;
    double queue_ = 0.0;
    double smoothed_ = 0.0;
    double highest_ = 0.0;
    std::optional<Instant> updated_;

    std::array<Point, kPoints> points_{};  // a circle of ascending numbers
    std::size_t point_count_ = 0;
};

}  // namespace udtx::congestion
