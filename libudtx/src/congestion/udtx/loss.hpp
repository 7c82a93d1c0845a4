// What udtx makes of losses: the share at which it aims, random and congestion loss, and trials to tell them apart.
#pragma once

#include <cstdint>
#include <optional>

#include "udtx/congestion.hpp"
#include "udtx/rate.hpp"

namespace udtx::congestion {

// The share of the link at which a flow of udtx aims, 2^-(q/q_h + p_c/P_h), and how fast it moves there.
//
// Two changes are damped separately. A change of all flows moves the queue an RTT later, and that loop allows little
// gain. A difference between flows moves no queue, so it may settle several times as fast. So the share follows the
// mean queue at the high gain, and the queue's deviation from that mean at the low gain.

class UdtxShare {
  public:
    /// q_h on a fast link with a deep buffer, s: the queue that halves the share. `base_rtt`: rb, s.
    [[nodiscard]] static double half_delay(double base_rtt);
    struct Now {
        double dt = 0.0;               ///< s since the last update
        double rtt = 0.0;              ///< s, without a queue (rb)
        double interval = 0.0;         ///< s between ACKs, at least a SYN
        double queue = 0.0;            ///< qf, s
        Duration base{};               ///< one-way delay above which the queue is measured
        double half_delay = 0.0;       ///< q_h, s
        double loss = 0.0;             ///< p_c, 0..1
        bool two_speeds = true;        ///< higher gain for differences between flows
        std::optional<double> full{};  ///< delay of the full queue, s; if set, loss fades out at a short queue
    };
    void update(const Now& now);

    /// Part of C: 1 at an empty queue.
    [[nodiscard]] double share() const noexcept { return share_; }
    /// Part of the distance to the share that is covered in one loop time.
    [[nodiscard]] double beta() const noexcept { return beta_; }
    /// qm, the mean of qf; seconds.
    [[nodiscard]] double mean_queue() const noexcept { return mean_.value_or(0.0); }

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

class UdtxDelay;

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

    /// `loss`: recent loss ratio of all packets; `rtt`: seconds, with the queue.
    Verdict on_feedback(const CongestionFeedback& feedback, double loss, double rtt);
    /// Ends a running trial without a verdict.
    void abandon();
    /// Factor of the rate now.
    [[nodiscard]] double factor() const noexcept { return lowered_ ? kLowered : 1.0; }
    /// Loss ratio during the trial, valid after a verdict.
    [[nodiscard]] double remaining() const noexcept { return packets_ > 0.0 ? (lost_ + 1.0) / packets_ : 0.0; }
    /// Loss ratio that the last trial found random, with a margin for chance; 0..1.
    [[nodiscard]] double borne() const noexcept { return borne_; }
    [[nodiscard]] bool running() const noexcept { return started_.has_value(); }

  private:
    static constexpr double kLowered = 0.5;

    void count(const CongestionFeedback& feedback);

    std::optional<Instant> started_;
    bool lowered_ = false;
    Instant raised_;  // when the lower rate ended
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
