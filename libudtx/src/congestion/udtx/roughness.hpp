// Rough paths: delays that change without a queue. How much they change, and the delivery rate over times that such
// changes do not reach.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/containers.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

// Mean distance of a delay to the straight line through the delays before and after it, each a little apart (n). It
// does not depend on the sending rate: a detector of packets that arrive faster than the link sees nothing once the
// rate is low, and then the rate stays low. A queue that grows or shrinks moves along the line.
//
// A queue changes at times, jitter always. So the least n of the last while counts.

class DelayDistance {
  public:
    /// `apart`: least time between two delays.
    explicit DelayDistance(Duration apart) : apart_(apart) {}
    void add(Instant sent, double delay);
    /// The least of `length`, s; 0: too few delays so far.
    [[nodiscard]] double least(Instant now, Duration length);
    void clear();

  private:
    struct Point {
        Instant sent;
        double delay = 0.0;
    };
    Duration apart_;
    Point first_;
    Point second_;
    int points_ = 0;
    double samples_ = 0.0;
    double mean_ = 0.0;
    SlidingExtreme<double, std::less<>> means_{std::chrono::seconds(8)};
};

class UdtxRoughness {
  public:
    /// What paces the flow's packets. A window sends in bursts, and its queue then changes at one of the two distances
    /// of delays; jitter does at both.
    enum class Pacing : std::uint8_t { rate, window };
    UdtxRoughness() = default;
    explicit UdtxRoughness(Pacing pacing) : pacing_(pacing) {}

    /// `base_rtt`: rb, s; `limit`: queue that the path may have without a loss of rate, s. More jitter makes it rough.
    void on_feedback(const CongestionFeedback& feedback, double base_rtt, double limit);

    /// Whether single delays and trains tell too little about a queue and about the link.
    [[nodiscard]] bool rough() const noexcept { return rough_; }
    /// What jitter adds to a delay (J), s.
    [[nodiscard]] double noise() const noexcept { return noise_; }
    /// Mean delay above the least mean delay and J, s: the queue of a rough path.
    [[nodiscard]] double queue() const noexcept { return queue_; }
    /// Trains of the last 10 s tell link rates within a factor of kAgree.
    [[nodiscard]] bool trains_agree() const noexcept { return agree_; }
    /// The path is rough, or its trains do not agree.
    [[nodiscard]] bool doubtful() const noexcept { return rough_ || !agree_; }
    /// Trains give only a lower bound of the link rate.
    [[nodiscard]] bool bound() const noexcept { return bound_; }
    /// Highest delivery rate over max(rb, 0.1 s), bytes/s (D).
    [[nodiscard]] double delivered() const noexcept { return delivered_; }

  private:
    struct Mark {
        Instant time;
        double bytes = 0.0;
    };

    void take_delays(const CongestionFeedback& feedback, double base_rtt, double limit);
    void take_trains(const CongestionFeedback& feedback, double limit);
    void take_delivery(const CongestionFeedback& feedback, double base_rtt);
    void judge(Instant now, double limit);

    Pacing pacing_ = Pacing::rate;

    // Delays
    std::optional<Instant> sent_;  // of the last sample
    double mean_ = 0.0;            // m, s
    SlidingExtreme<double, std::less<>> bases_{std::chrono::seconds(10)};
    DelayDistance near_{std::chrono::milliseconds(2)};
    DelayDistance far_{std::chrono::milliseconds(8)};  // of jitter that holds its values; only at a short queue
    double noise_ = 0.0;
    double queue_ = 0.0;
    SlidingExtreme<double, std::less<>> queues_{std::chrono::seconds(8)};
    bool standing_ = false;  // a long queue, which is that of competing flows: they, too, change delays

    // Trains
    SlidingExtreme<double, std::less<>> slowest_{std::chrono::seconds(10)};
    SlidingExtreme<double, std::greater<>> fastest_{std::chrono::seconds(10)};
    std::optional<Instant> irregular_;  // when a train was last off a straight line
    bool bound_ = false;                // trains give only a lower bound
    bool agree_ = true;

    // Delivery
    std::array<Mark, 256> marks_{};  // ring of the bytes acknowledged up to a time
    std::size_t mark_count_ = 0;
    double bytes_ = 0.0;
    SlidingExtreme<double, std::greater<>> rates_{std::chrono::seconds(12)};
    double delivered_ = 0.0;

    bool rough_ = false;
    Instant seen_;  // when jitter last exceeded the limit
};

}  // namespace udtx::congestion
