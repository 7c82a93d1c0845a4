// What udtx sees: the link rate, delays and the queue, whether delays tell anything, and what losses mean.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/containers.hpp"
#include "congestion/udtx/constants.hpp"
#include "udtx/congestion.hpp"
#include "udtx/rate.hpp"

namespace udtx::congestion {

// MTR, the capacity of the path: packet pairs and trains, smoothed by congestion degree, checked against delivery.

class UdtxMtr {
  public:
    /// Meaning of the rate that trains and pairs measure.
    enum class Told : std::uint8_t {
        line,   ///< it is the link rate
        least,  ///< it is a lower bound: jitter stretches trains and makes bursts
        mean,   ///< it errs in both directions
    };
    /// `degree`: CD, 0..1.
    void on_feedback(const CongestionFeedback& feedback, double degree, Told what = Told::line);

    [[nodiscard]] bool known() const noexcept { return mtr_ > 0.0; }
    /// Bytes/s, 0 = unknown.
    [[nodiscard]] double mtr() const noexcept { return limit_ ? std::min(mtr_, *limit_) : mtr_; }
    /// Rate that the link is known to carry: mtr(), or less while trains give only a lower bound.
    [[nodiscard]] double seen() const noexcept {
        if (mean_ > 0.0) return std::min(std::max(mean_, mtr_ / kUdtx.open), mtr());
        return open_ ? std::min(std::max(told_, mtr_ / kUdtx.open), mtr()) : mtr();
    }
    /// Trains arrive as fast as they leave, so the link may be faster by any factor.
    [[nodiscard]] bool open() const noexcept { return open_; }
    /// Granularity of the receiver's arrival times.
    [[nodiscard]] Duration granularity() const noexcept { return granularity_; }
    /// Highest delivery rate of the last kRecentLife or three round trips, bytes/s.
    [[nodiscard]] double delivered() const noexcept { return delivered_; }
    /// Average delivery over one second or two round trips with the queue; bytes/s.
    [[nodiscard]] double usual() const noexcept { return usual_; }
    /// A policer passes less than the link. mtr() is then at most this rate, which grows slowly.
    void limit(double bytes_per_second) { limit_ = bytes_per_second; }
    void unlimit() { limit_.reset(); }
    /// Sets the MTR to the delivery rate, when no probe measures the link.
    void assume_delivered() { mtr_ = delivered_; }

  private:
    static constexpr Duration kDeliveryLife = std::chrono::seconds(2);
    static constexpr Duration kRecentLife = std::chrono::milliseconds(600);
    static constexpr Duration kLongestLife = std::chrono::seconds(6);

    void deliver(Instant now, const DeliverySample& sample);
    void count(const CongestionFeedback& feedback);
    void smooth(double estimate, double degree);
    [[nodiscard]] static double averaged(double mean, double estimate);

    double mtr_ = 0.0;
    double told_ = 0.0;      // last rate that the receiver reported
    double mean_ = 0.0;      // mean of told_ while jitter makes it a lower bound; else 0
    bool open_ = false;      // told_ is the rate at which trains leave
    double delivery_ = 0.0;  // rate of a round trip, averaged over a SYN where that is longer
    double delivered_ = 0.0;
    double usual_ = 0.0;
    std::optional<double> limit_;
    Instant updated_;
    Duration granularity_{};
    SlidingExtreme<double, std::greater<>> deliveries_{kDeliveryLife};
    SlidingExtreme<double, std::greater<>> recent_{kLongestLife};
    std::optional<Instant> smoothed_at_;
};

// Rough paths: delays that change without a queue. How much they change, and the delivery rate over times that such
// changes do not reach.

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
    /// Trains of the last 10 s tell link rates within a factor of kUdtx.agree.
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
    SlidingExtreme<double, std::less<>> bases_{kUdtx.base_life};
    DelayDistance near_{std::chrono::milliseconds(2)};
    DelayDistance far_{std::chrono::milliseconds(8)};  // of jitter that holds its values; only at a short queue
    double noise_ = 0.0;
    double queue_ = 0.0;
    SlidingExtreme<double, std::less<>> queues_{std::chrono::seconds(8)};
    bool standing_ = false;  // a long queue, which is that of competing flows: they, too, change delays

    // Trains
    SlidingExtreme<double, std::less<>> slowest_{kUdtx.base_life};
    SlidingExtreme<double, std::greater<>> fastest_{kUdtx.base_life};
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
    /// Shortest queueing delay that counts as long, seconds. `packet_time`: Lp, seconds.
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
    static constexpr Duration kFullLife = std::chrono::seconds(30);
    static constexpr Duration kHighestLife = std::chrono::seconds(5);

    [[nodiscard]] std::optional<double> above_base(std::optional<Duration> delay) const;
    void take_return_delay(const CongestionFeedback& feedback);
    void take_arrivals(const CongestionFeedback& feedback, double packet_time, const UdtxRoughness& roughness);

    SlidingExtreme<Duration, std::less<>> bases_{kUdtx.base_life};
    SlidingExtreme<Duration, std::less<>> rtts_{kUdtx.base_life};
    SlidingExtreme<Duration, std::greater<>> highs_{kHighestLife};
    SlidingExtreme<Duration, std::greater<>> fulls_{kFullLife};
    std::optional<double> full_;
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

// The share of the link at which a flow of udtx aims, 2^-(q/q_h + p_c/P_h), and how fast it moves there.
//
// Two changes are damped separately. A change of all flows moves the queue an RTT later, and that loop allows little
// gain. A difference between flows moves no queue, so it may settle several times as fast. So the share follows the
// mean queue at the high gain, and the queue's deviation from that mean at the low gain.

class UdtxShare {
  public:
    /// q_h on a fast link with a deep buffer, s: the queue that halves the share. `base_rtt`: rb, s.
    [[nodiscard]] static double half_delay(double base_rtt);
    /// The least q_h, s: a shorter queue is hard to see. `packet_time`: Lp, s.
    [[nodiscard]] static double least_half_delay(double packet_time);
    struct Now {
        double dt = 0.0;               ///< s since the last update
        double rtt = 0.0;              ///< s, without a queue (rb)
        double interval = 0.0;         ///< s between ACKs, at least a SYN
        double queue = 0.0;            ///< qf, s
        Duration base{};               ///< one-way delay above which the queue is measured
        double half_delay = 0.0;       ///< q_h, s
        double loss = 0.0;             ///< p_c, 0..1
        std::optional<double> full{};  ///< delay of the full queue, s; if set, loss fades out at a short queue
        bool two_speeds = true;        ///< higher gain for differences between flows
    };
    void update(const Now& now);

    /// Part of C: 1 at an empty queue.
    [[nodiscard]] double share() const noexcept { return share_; }
    /// Part of the distance to the share that is covered in one loop time.
    [[nodiscard]] double beta() const noexcept { return beta_; }

  private:
    void follow(const Now& now);

    double share_ = 1.0;
    double beta_ = 0.0;
    std::optional<double> mean_;  // of qf, s
    Duration base_{};
};

// Tells random loss from congestion loss by the delay at which packets are lost.
//
// Random loss is the same at any queue length. A drop-tail queue drops when it is full, so the neighbours of its lost
// packets have the longest delays. Packets are counted in two classes, with and without a long queue around them. The
// loss ratio of the class without is the random loss p_rand. What the other class loses beyond that, less two standard
// deviations, is congestion.

class UdtxLoss {
  public:
    /// Counts of one ACK: packets (arrived or lost) with (`high`) and without (`low`) a long queue around them.
    struct Counts {
        double high = 0.0;
        double high_lost = 0.0;
        double low = 0.0;
        double low_lost = 0.0;
    };
    /// `long_queue`: shortest delay that counts as a long queue, s.
    [[nodiscard]] static Counts count(const CongestionFeedback& feedback, const UdtxDelay& delay, double long_queue);
    void on_feedback(Instant now, const Counts& counts, double rtt);

    [[nodiscard]] double random() const noexcept { return random_; }          ///< p_rand, 0..1
    [[nodiscard]] double congestion() const noexcept { return congestion_; }  ///< p_c, 0..1
    [[nodiscard]] double total() const noexcept;                              ///< loss ratio of all recent packets
    /// Loss at short delays was congestion, except for this part.
    void assume_random(double random);
    /// Forgets earlier losses, which were judged by another rule.
    void restart() { seen_ = {}; }

  private:
    Counts seen_;
    double random_ = 0.0;
    double congestion_ = 0.0;
    std::optional<Instant> updated_;
};

// Room of the window if the link is faster than the two hosts (UdtxMtr::open).
//
// Packets then wait in the receiver's socket, after they got their timestamps, so no delay shows them. Only an overflow
// of that socket shows, as loss at short delays. The room found fits the socket as a congestion window fits a buffer.

class UdtxEnds {
  public:
    /// Uses the packets at short delays. Call it only while UdtxMtr::open() is true.
    void on_feedback(const CongestionFeedback& feedback, const UdtxLoss::Counts& counts);
    /// Part of the usual room that causes no losses (f), (0, 1].
    [[nodiscard]] double fit() const noexcept { return fit_; }

  private:
    double fit_ = 1.0;
    double packets_ = 0.0;  // since judged_
    double lost_ = 0.0;
    Instant judged_;
};

// A trial for losses that no delay explains: send less for a moment and see whether the loss ratio falls.
//
// Random loss takes the same part of any rate. A policer drops the excess, and so does a queue that was already full
// when the base was measured. Then a lower rate loses a smaller part.

class UdtxTrial {
  public:
    enum class Verdict : std::uint8_t { none, random, congestion };

    /// Whether to begin a trial now. Call it between trials. `loss`: recent loss ratio.
    [[nodiscard]] bool due(const CongestionFeedback& feedback, double loss);
    /// Call it during a trial, until it gives a verdict. `rtt`: seconds, with the queue.
    Verdict on_feedback(const CongestionFeedback& feedback, double rtt);
    /// Forgets when the next trial was due.
    void abandon() { next_.reset(); }
    /// Factor of the rate during a trial.
    [[nodiscard]] double factor() const noexcept { return raised_ ? 1.0 : 0.5; }
    /// Loss ratio that the last trial found random, with a margin for chance; 0..1.
    [[nodiscard]] double borne() const noexcept { return borne_; }
    /// Loss ratio during the trial, valid after a verdict.
    [[nodiscard]] double remaining() const noexcept { return packets_ > 0.0 ? (lost_ + 1.0) / packets_ : 0.0; }

  private:
    Instant started_;
    std::optional<Instant> raised_;  // when the lower rate ended
    Instant updated_;
    double recent_lost_ = 0.0;     // recently lost packets
    double recent_packets_ = 0.0;  // all packets in the same time
    double before_ = 0.0;
    double lost_ = 0.0;
    double packets_ = 0.0;
    std::optional<Instant> next_;
    double borne_ = 0.0;
    double pause_ = 0.0;  // s until the next trial; doubles while the verdict is random
};

}  // namespace udtx::congestion
