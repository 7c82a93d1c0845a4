// What udtx learns from delays: jitter, the base, the queue above it, and the queue around each lost packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/containers.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

// Jitter that keeps the order of packets: packets that arrive faster than C were held up after the bottleneck.
//
// A queue at the bottleneck releases packets at the link's rate, for every flow. So faster arrivals are not its queue.
// docs/inside/congestion.md, `udtx`, Jitter.

class UdtxJitter {
  public:
    /// `line`: rate of the link, bytes/s; `least`: smaller jitter does not count, s.
    void on_feedback(const CongestionFeedback& feedback, double line, double least);

    /// Size of the jumps of delay without a queue (j); s, 0: no jitter.
    [[nodiscard]] double size() const noexcept { return size_; }

  private:
    static constexpr std::size_t kSpans = 8;

    [[nodiscard]] double longest_burst(const CongestionFeedback& feedback, double line);
    [[nodiscard]] double packets_between(const CongestionFeedback& feedback, PacketNumber number) const;
    void count(Instant now, double burst);
    [[nodiscard]] double usual_burst() const;

    std::optional<ArrivalSample> previous_;
    std::array<double, kSpans> bursts_{};  // longest of each span of time, s; ring buffer
    double burst_ = 0.0;                   // time by which recent packets were early (b), s
    std::int64_t span_ = 0;
    double size_ = 0.0;
    Instant last_;  // when jitter last exceeded `least`
};

/// Delay that jitter adds even to the smallest delay of a while (J). One of very many packets passes without jitter and
/// becomes the base, while most do not.
class JitterNoise {
  public:
    static constexpr double kMost = 15e-3;  ///< s

    struct Path {
        double jitter = 0.0;    ///< s, 0: no jitter
        double base_rtt = 0.0;  ///< s
    };
    /// Delay by which to judge the queue: with jitter the smallest of a while, else `delay` itself.
    Duration on_delay(Instant now, Duration delay, Duration base, const Path& path);
    /// Time by which that delay exceeds the base without a queue (J), s.
    [[nodiscard]] double height() const noexcept { return height_; }
    [[nodiscard]] bool active() const noexcept { return newest_.has_value(); }
    void clear();

  private:
    using Lowest = SlidingExtreme<Duration, std::less<>>;
    static constexpr Duration kCalmLife = std::chrono::seconds(4);

    std::optional<Lowest> newest_;
    Lowest calms_{kCalmLife};
    double height_ = 0.0;
};

// Delays that udtx measures: the base, the queue above it, and the queue around each lost packet.
//
// All come from one-way delays, so that a busy return path does not look like a queue. docs/inside/congestion.md,
// `udtx`.

class UdtxDelay {
  public:
    /// `packet_time`: transmission time of one packet (Lp), seconds; 0 when unknown. `jitter`: of the path, seconds.
    void on_feedback(const CongestionFeedback& feedback, double packet_time, double jitter = 0.0);
    /// Delay that timers, interrupts and own bursts add without a queue (d), seconds.
    [[nodiscard]] static double dead_zone(double packet_time);

    [[nodiscard]] bool known() const noexcept { return base_.has_value(); }
    /// Queueing delay now (q), and smoothed over rb/4 (qf), seconds.
    [[nodiscard]] double queue() const noexcept { return queue_; }
    [[nodiscard]] double smoothed() const noexcept { return smoothed_; }
    /// Delay that jitter adds, which q does not contain; seconds.
    [[nodiscard]] double noise() const noexcept { return noise_.height(); }
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

    std::array<Point, kPoints> points_{};  // ring buffer of ascending numbers
    std::size_t point_count_ = 0;
};

}  // namespace udtx::congestion
