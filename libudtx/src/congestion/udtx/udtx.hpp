// udtx, the default controller: its mechanisms, and the class that joins them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "congestion/ack_interval.hpp"
#include "congestion/udtx/compete.hpp"
#include "congestion/udtx/delay.hpp"
#include "congestion/udtx/loss.hpp"
#include "congestion/udtx/mtr.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

// The mechanisms of udtx, each with a switch. Without one, the benefit of that mechanism can be measured
// (docs/lab/ablation.md).

enum class UdtxPart : std::uint8_t {
    rest,            ///< a flow alone keeps a longer queue
    fill,            ///< an empty queue makes x grow
    drain,           ///< all flows send less two seconds after the shortest queue
    refill,          ///< after a drain the queue is restored at once
    compete,         ///< a window like CUBIC's beside competing flows
    fixed_share,     ///< the fair share beside competing flows that pause
    resume,          ///< competing that ended too early resumes
    trial,           ///< half the rate, to see whether loss is random
    all_congestion,  ///< after a trial that found congestion, every loss is congestion
    heavy_loss,      ///< heavy loss bounds x, unless a trial found it random
    loss,            ///< p_c lowers the share
    jitter,          ///< a path whose delays tell nothing is steered by deliveries
    ends,            ///< fits the window if the hosts are slower than the link
    hold,            ///< a flow ignores the queue that it made itself by a start or a search
    sole,            ///< a start alone on the link does not count as a start beside others
    half_start,      ///< the ramp begins at C/2, not at C/8
    shallow,         ///< in a shallow buffer, a long queue alone shows no competing flow
    tiers,           ///< C follows a slower link faster at a higher congestion degree
    pace,            ///< the pacing rate reacts to the queue at once
    two_speeds,      ///< differences between flows settle faster than changes of all
    cap,             ///< x is at most 1.25 of what was delivered
    longer_path,     ///< a queue that does not vary is a longer path
    hold_base,       ///< the base delay is kept while others keep up the queue
};

inline constexpr std::array kUdtxParts = std::to_array<std::string_view>(
    {"rest",           "fill",       "drain", "refill",     "compete", "fixed-share", "resume",   "trial",
     "all-congestion", "heavy-loss", "loss",  "jitter",     "ends",    "hold",        "sole",     "half-start",
     "shallow",        "tiers",      "pace",  "two-speeds", "cap",     "longer-path", "hold-base"});

/// All mechanisms except those taken out.
class UdtxParts {
  public:
    [[nodiscard]] constexpr UdtxParts without(UdtxPart part) const {
        UdtxParts out = *this;
        out.off_ |= 1U << static_cast<unsigned>(part);
        return out;
    }
    [[nodiscard]] constexpr bool has(UdtxPart part) const { return (off_ >> static_cast<unsigned>(part) & 1U) == 0; }

  private:
    std::uint32_t off_ = 0;
};

// udtx, the default controller: UDT's packet-pair MTR and D-AIMD, governed by congestion degree and delay.
//
// With a common capacity C (MTR) and a common queueing delay q, every flow aims at the share 2^(-q/q_h). So N flows
// rest at C/N with q = q_h log2 N, at any round-trip time. docs/inside/congestion.md has equations and parameters.

class Udtx final : public CongestionController {
  public:
    explicit Udtx(const CongestionOptions& options, UdtxParts parts = {});

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override;
    [[nodiscard]] std::uint32_t probe_packets() const override;
    [[nodiscard]] CongestionReport report() const override;

    // For reports and tests.
    [[nodiscard]] double rate() const noexcept { return rate_; }  ///< x, bytes/s
    [[nodiscard]] const UdtxDelay& delay() const noexcept { return delay_; }
    [[nodiscard]] const UdtxRoughness& roughness() const noexcept { return roughness_; }
    [[nodiscard]] const UdtxLoss& loss() const noexcept { return loss_; }
    [[nodiscard]] const UdtxMtr& mtr() const noexcept { return mtr_; }
    [[nodiscard]] bool competing() const noexcept { return compete_.active(); }
    [[nodiscard]] bool draining() const noexcept { return drain_until_.has_value(); }

  private:
    static constexpr double kMaxShare = 1.05;     // x above C, to find an error of C or a free link
    static constexpr double kMaxThinning = 0.35;  // most random loss that a higher rate makes up for
    static constexpr double kHeavyLoss = 0.1;     // loss ratio: more loss bounds x, until a trial has found it random
    static constexpr double kRest = 0.12;         // of q_h: the queue kept so that the link never runs dry
    static constexpr double kDrainPace = 0.25;    // of x
    static constexpr double kRefillPace = 1.25;   // of x, after a drain, until the queue is as before

    static constexpr Duration kRatesLife = std::chrono::seconds(10);

    enum class Phase : std::uint8_t { blind, ramp, steady, search };

    void count_packets(const CongestionFeedback& feedback);
    void grope(const CongestionFeedback& feedback);
    void start_ramp(Instant now);
    void ramp(const CongestionFeedback& feedback, double dt);
    void reconsider_sharing(const CongestionFeedback& feedback);
    void steer(const CongestionFeedback& feedback, double dt);
    void steer_rough(const CongestionFeedback& feedback, double dt);
    void search(const CongestionFeedback& feedback);
    void fill(const CongestionFeedback& feedback, double dt);
    void bound_rate(const CongestionFeedback& feedback);
    void bound_by_path(const CongestionFeedback& feedback);
    void consider_trial(const CongestionFeedback& feedback);
    void consider_competing(const CongestionFeedback& feedback);
    [[nodiscard]] bool foreign(Instant now) const;
    [[nodiscard]] bool losing(Instant now) const;
    [[nodiscard]] bool alone() const;
    void begin_competing(Instant now, double rtt);
    [[nodiscard]] double competing_window() const;
    bool end_competing(const CongestionFeedback& feedback, double rtt);
    void stop_waiting();
    void consider_drain(const CongestionFeedback& feedback);
    void note_shortest(const ArrivalSample& sample);
    [[nodiscard]] double drain_interval() const;
    [[nodiscard]] bool drains_in_vain() const;
    [[nodiscard]] static double time_to_empty(double queue);
    [[nodiscard]] double drain_length(double queue) const;
    void begin_drain(Instant now, double length);
    void end_drain(Instant now);
    void forget_drains();
    [[nodiscard]] double least_half_delay() const;
    [[nodiscard]] double half_delay() const;  // q_h
    [[nodiscard]] std::optional<double> roomy_buffer() const;
    [[nodiscard]] bool shallow() const;
    [[nodiscard]] double packet_time() const;  // Lp
    [[nodiscard]] bool acks_are_sparse() const;
    [[nodiscard]] double ack_interval() const;
    [[nodiscard]] double push() const;
    [[nodiscard]] double longest_hold() const;
    [[nodiscard]] double room() const;
    [[nodiscard]] double rest() const;               // of q_h, in q_eq
    [[nodiscard]] double equilibrium_delay() const;  // q_eq
    [[nodiscard]] double capacity() const;           // C', which makes up for random loss

    [[nodiscard]] bool has(UdtxPart part) const { return parts_.has(part); }

    CongestionOptions options_;
    UdtxParts parts_;
    std::uint32_t datagram_bytes_;
    UdtxDelay delay_;
    UdtxRoughness roughness_;
    UdtxLoss loss_;
    UdtxMtr mtr_;
    UdtxEnds ends_;
    UdtxShare share_;
    UdtxTrial trial_;
    UdtxCompete compete_;
    AckInterval acks_;

    Phase phase_ = Phase::blind;
    double rate_ = 0.0;          // x
    double blind_window_ = 0.0;  // bytes
    double degree_ = 0.0;        // CD
    double gain_ = 0.0;          // growth per RTT of fill()
    std::optional<Instant> updated_;
    Instant sent_;
    Instant started_;                       // start of the ramp
    bool first_ramp_ = true;                // no timeout yet
    std::optional<Instant> at_line_since_;  // ramp: x has reached C
    std::optional<Instant> shared_since_;   // ramp: q > q_h; later: the ramp ended by that
    double carried_ = 0.0;                  // highest delivery since then, bytes/s
    Instant low_since_;                     // q < 0.06 q_h since
    Instant last_low_;                      // q <= 0.25 q_h, last time
    bool low_ = false;

    double found_ = 0.0;   // delivery that the last search found, bytes/s; 0: none since the path became doubtful
    Instant found_since_;  // search: last growth of found_

    std::uint32_t congestion_losses_ = 0;                       // of this feedback, at long delays
    double remaining_loss_ = 0.0;                               // loss ratio that the trial left
    Instant all_congestion_until_;                              // every loss is congestion until then
    SlidingExtreme<double, std::greater<>> rates_{kRatesLife};  // for the highest x of 10 s
    double before_ = 0.0;                                       // the highest x before competing flows came
    std::optional<Instant> left_;                               // when competing ended
    double left_rate_ = 0.0;                                    // x at that time
    std::optional<Instant> overrun_since_;                      // q > 5 q_h, or 1.5 q_h of competing flows' queue
    double overrun_least_ = 0.0;                                // least q of that time, without its first part
    double overrun_most_ = 0.0;

    std::optional<Instant> drain_until_;
    Instant frozen_until_;
    Instant hold_until_;
    Instant last_drain_;
    std::optional<ArrivalSample> shortest_;       // shortest delay since the last drain but one
    std::optional<ArrivalSample> shortest_next_;  // shortest delay well after that one
    bool dips_ = false;                           // shortest_next_ is a dip: the queue became shorter
    std::optional<Instant> judge_drain_at_;
    double drain_queue_ = 0.0;  // q when the drain began, s
    double drain_least_ = 0.0;  // least q since then, s
    int judged_ = 0;            // number of drains judged
    unsigned in_vain_ = 0;      // a bit for each of the last drains: 1 if the queue did not empty
};

}  // namespace udtx::congestion
