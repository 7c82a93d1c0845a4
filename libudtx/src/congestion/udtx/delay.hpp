// What udtx learns from delays: the base, the queue above it, and the queue around each lost packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/containers.hpp"
#include "congestion/udtx/roughness.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

// Delays that udtx measures: the base, the queue above it, and the queue around each lost packet.
//
// All come from one-way delays, so that a busy return path does not look like a queue. docs/inside/congestion.md,
// `udtx`.

class UdtxDelay {
  public:
    /// `packet_time`: transmission time of one packet (Lp), seconds; 0 when unknown. `roughness`: of the path, with
    /// this feedback.
    void on_feedback(const CongestionFeedback& feedback, double packet_time, const UdtxRoughness& roughness);
    /// Delay that timers, interrupts and own bursts add without a queue (d), seconds.
    [[nodiscard]] static double dead_zone(double packet_time);

    [[nodiscard]] bool known() const noexcept { return base_.has_value(); }
    /// Queueing delay now (q), and smoothed over rb/4 (qf), seconds.
    [[nodiscard]] double queue() const noexcept { return queue_; }
    [[nodiscard]] double smoothed() const noexcept { return smoothed_; }
    /// On a rough path, the delay that jitter adds, which q does not contain; seconds.
    [[nodiscard]] double noise() const noexcept { return noise_; }
    /// Longest delay of the last 5 s above the base, seconds.
    [[nodiscard]] double highest() const noexcept { return highest_; }
    /// Shortest queueing delay that counts as long, seconds.
    [[nodiscard]] double long_queue(double packet_time) const;
    /// Time that ACKs wait on the return path, smoothed; seconds.
    [[nodiscard]] double way_back() const noexcept { return way_back_; }
    /// Smallest RTT of the last 10 s (rb), seconds.
    [[nodiscard]] double base_rtt() const noexcept { return base_rtt_; }
    /// Base one-way delay. Clocks differ, so only differences of it have a meaning.
    [[nodiscard]] Duration base() const noexcept { return base_.value_or(Duration::zero()); }
    /// The larger queueing delay of the packets seen before and after this (lost) one.
    [[nodiscard]] double queue_around(PacketNumber number) const;
    /// A full queue of this delay dropped a packet. It is stored as an absolute one-way delay, because a new flow may
    /// still correct its base.
    void note_full(Instant now, double queue) { fulls_.add(now, base() + from_seconds(queue)); }
    /// A packet was lost for any reason, with this queue around it. It is stored as an absolute one-way delay, too.
    void note_lost(Instant now, double queue);
    /// The longest of those queues in 10 s above the present base, seconds; else 0. The last few must be about as long
    /// on average, and clearly longer than `usual`. Random loss and a policer drop packets without such a queue.
    [[nodiscard]] double lost_at(Instant now, double usual) const;
    /// Delay of the full queue, if it overflowed lately; seconds.
    [[nodiscard]] std::optional<double> full() const noexcept { return full_; }
    /// Highest less lowest queue of the last second, seconds.
    [[nodiscard]] double range() const noexcept { return range_; }
    /// Keeps the base beyond its life, while others keep up the queue.
    void hold_base(bool hold) noexcept { hold_ = hold; }
    /// The path has changed: later measurements form a new base.
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
    void take_return_delay(const CongestionFeedback& feedback);
    void take_arrivals(const CongestionFeedback& feedback, double packet_time, const UdtxRoughness& roughness);

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
    double noise_ = 0.0;
    double base_rtt_ = 0.0;
    double way_back_ = 0.0;
    double queue_ = 0.0;
    double smoothed_ = 0.0;
    double highest_ = 0.0;
    std::optional<Instant> updated_;

    std::array<Point, kPoints> points_{};  // ring buffer of ascending numbers
    std::size_t point_count_ = 0;
};

}  // namespace udtx::congestion
