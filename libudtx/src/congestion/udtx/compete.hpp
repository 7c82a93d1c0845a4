// udtx beside other flows: drains, which show whether the others are `udtx` flows, and the share that it claims beside
// those that are not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "udtx/congestion.hpp"

namespace udtx::congestion {

// All `udtx` flows drain at the same time, so that the queue empties and all see the base again.
//
// All flows see the same queue, so all know which packet met the shortest one. Two seconds after that packet left, each
// flow sends less. At the queue this is the same moment for all flows, at any round-trip time. A drain makes the next
// shortest queue. A drain that does not empty the queue was in vain: other flows keep up the queue.

class UdtxDrains {
  public:
    /// What the controller knows at a feedback; seconds.
    struct Seen {
        double queue = 0.0;
        double empty = 0.0;  ///< up to here nobody else keeps up the queue
        double same = 0.0;   ///< between two delays, less than the noise: the first counts
        double base_rtt = 0.0;
        bool alone = false;  ///< no other flow needs to see the base
    };
    /// Returns true if it judged a drain.
    bool on_feedback(const CongestionFeedback& feedback, const Seen& seen);
    [[nodiscard]] bool due(Instant now) const;
    /// `length`: s.
    void begin(Instant now, double length);
    [[nodiscard]] bool over(Instant now) const { return now >= until_; }
    [[nodiscard]] Instant end() const { return until_; }
    /// Longest queue before the last drain, s.
    [[nodiscard]] double before() const { return before_; }
    /// That drain emptied the queue.
    [[nodiscard]] bool emptied() const { return low_; }
    /// The last drain and most of those before were in vain.
    [[nodiscard]] bool in_vain() const;
    /// Forgets the results of drains, as the queue that they judged no longer exists.
    void forget();

  private:
    void note_shortest(const ArrivalSample& sample);
    void judge();

    Seen seen_;
    Duration interval_{};                    // from the shortest queue to the next drain
    std::optional<ArrivalSample> shortest_;  // shortest delay since the last drain but one
    std::optional<ArrivalSample> next_;      // shortest delay well after that one
    bool dips_ = false;                      // next_ is a dip: the queue became shorter
    Instant begun_;
    Instant until_;
    std::optional<Instant> judge_at_;
    double before_ = 0.0;   // q when the drain began, s
    double least_ = 0.0;    // least q since then, s
    bool low_ = false;      // the queue was empty since then
    int judged_ = 0;        // number of drains judged
    unsigned in_vain_ = 0;  // a bit for each of the last drains: 1 if the queue did not empty
};

// Whether a long queue is that of flows that fill it until it overflows, and not of `udtx` flows.

class UdtxCompany {
  public:
    enum class Verdict : std::uint8_t {
        none,
        longer_path,  ///< the queue does not vary: the path is longer
        others,       ///< competing flows
    };
    struct Seen {
        Instant now;
        double queue = 0.0;       ///< s
        double half_delay = 0.0;  ///< q_h, s
        double base_rtt = 0.0;    ///< s
        double range = 0.0;       ///< highest less lowest queue of the last second, s
        double packets = 0.0;     ///< delivered in a second
        double full = 0.0;        ///< delay of the full buffer, s; 0: unknown
        bool shallow = false;     ///< so small a buffer that many `udtx` flows, too, keep it full
        bool alone = false;       ///< deliveries fill the link
        bool known = false;       ///< drains show that competing flows keep up the queue
    };
    [[nodiscard]] Verdict on_feedback(const Seen& seen);
    void stop_waiting() { since_.reset(); }
    /// A long queue lasts.
    [[nodiscard]] bool waits() const { return since_.has_value(); }

  private:
    std::optional<Instant> since_;  // the queue is long
    double least_ = 0.0;            // least q of that time, without its first part
    double most_ = 0.0;
};

// The share of the link that udtx claims beside flows that fill the queue until it overflows.
//
// Such flows leave the share 2^(-q/q_h) almost nothing. So a flow beside them also holds a share, its claim, at any
// queue. All `udtx` flows drain at the same time, with a claim or without. So each drain tells how much of the link
// they have together. A queue that stands falls by (1 - part) X in a second, where X is the sum of their shares. The
// rest, 1 - X, is that of others.
//
// After each drain the claim aims at x/(X + x). A flow rests where x = 1 - X: N `udtx` flows beside one other flow at
// 1/(N + 1). The larger one of two claims shrinks more. Without other flows all claims shrink until the queue is empty.

class UdtxClaim {
  public:
    /// A drain of this flow, and so of all `udtx` flows: they send `part` of their rates for this time.
    struct Drain {
        Instant begin;
        Instant end;
        double part = 0.0;
        Duration base{};  ///< base delay
        Duration dead{};  ///< more delay than that is a queue
    };
    void on_drain(const Drain& drain);
    void on_arrivals(const std::vector<ArrivalSample>& arrivals);

    struct Outcome {
        double share = 0.0;    ///< x/C during the drain
        double loss = 0.0;     ///< p_c
        bool emptied = false;  ///< the queue was no longer than that of `udtx` flows, and emptied
    };
    /// Call it when the packets of the drain have arrived.
    void on_drained(const Outcome& outcome);

    /// Part of the link that flows have which do not drain, mean of the last drains.
    [[nodiscard]] double others() const;

    void begin(double share);
    void end() noexcept { share_.reset(); }
    [[nodiscard]] bool active() const noexcept { return share_.has_value(); }
    /// Part of C; 0 without a claim.
    [[nodiscard]] double share() const noexcept { return share_.value_or(0.0); }
    /// Nobody else keeps up the queue any more.
    [[nodiscard]] bool over() const noexcept;

  private:
    [[nodiscard]] double median() const;
    [[nodiscard]] std::optional<double> sum_of_shares(const Outcome& outcome) const;
    [[nodiscard]] bool base_fell() const { return shortest_ && *shortest_ < drain_.base; }

    std::optional<double> share_;
    std::array<double, 3> sums_{};  // the last values of X
    std::size_t measured_ = 0;      // number of them
    int emptied_ = 0;               // drains in a row that emptied the queue

    Drain drain_;
    std::optional<Duration> longest_;   // delay of a packet at the beginning of the drain
    std::optional<Duration> shortest_;  // delay of a packet of the drain
    std::optional<Instant> empty_at_;   // send time of the first packet that met no queue
};

}  // namespace udtx::congestion
