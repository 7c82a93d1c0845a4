// udtx, the default controller: UDT's packet-pair MTR and D-AIMD, governed by congestion degree and delay.
//
// With a common capacity C (MTR) and a common queueing delay q, every flow aims at the share 2^(-q/q_h): N flows rest
// at C/N with q = q_h log2 N, whatever their round-trip times. docs/inside/congestion.md has equations and parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "congestion/ack_interval.hpp"
#include "congestion/udtx/compete.hpp"
#include "congestion/udtx/delay.hpp"
#include "congestion/udtx/ends.hpp"
#include "congestion/udtx/jitter.hpp"
#include "congestion/udtx/loss.hpp"
#include "congestion/udtx/mtr.hpp"
#include "congestion/udtx/parts.hpp"
#include "congestion/udtx/share.hpp"
#include "congestion/udtx/trial.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

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
    [[nodiscard]] const UdtxJitter& jitter() const noexcept { return jitter_; }
    [[nodiscard]] const UdtxLoss& loss() const noexcept { return loss_; }
    [[nodiscard]] const UdtxMtr& mtr() const noexcept { return mtr_; }
    [[nodiscard]] bool competing() const noexcept { return compete_.active(); }
    [[nodiscard]] bool draining() const noexcept { return drain_until_.has_value(); }

  private:
    static constexpr double kMaxShare = 1.05;     // x above C: how an error of C and a freed line are found out
    static constexpr double kMaxThinning = 0.35;  // random loss that is made up for by sending more
    static constexpr double kHeavyLoss = 0.1;     // more holds x down, until a trial has found it random
    static constexpr double kRest = 0.12;  // of q_h: the queue kept for its own sake, so that the line never runs dry
    static constexpr double kDrainPace = 0.25;   // of x
    static constexpr double kRefillPace = 1.25;  // of x, afterwards, until the queue is as before

    static constexpr Duration kRatesLife = std::chrono::seconds(10);

    enum class Phase : std::uint8_t { blind, ramp, steady };

    void count_packets(const CongestionFeedback& feedback);
    void grope(const CongestionFeedback& feedback);
    void start_ramp(Instant now);
    void ramp(const CongestionFeedback& feedback, double dt);
    void reconsider_crowd(const CongestionFeedback& feedback);
    void steer(const CongestionFeedback& feedback, double dt);
    void fill(const CongestionFeedback& feedback, double dt);
    void bound_rate(const CongestionFeedback& feedback);
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
    [[nodiscard]] double capacity() const;           // C, more where random loss thins what is sent

    [[nodiscard]] bool has(UdtxPart part) const { return parts_.has(part); }

    CongestionOptions options_;
    UdtxParts parts_;
    std::uint32_t datagram_bytes_;
    UdtxDelay delay_;
    UdtxJitter jitter_;
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
    double gain_ = 0.0;          // G of fill
    std::optional<Instant> updated_;
    Instant sent_;
    Instant started_;                       // of the ramp
    bool first_ramp_ = true;                // no time-out yet
    std::optional<Instant> at_line_since_;  // ramp: x has reached C
    std::optional<Instant> crowded_since_;  // ramp: q > q_h; afterwards: it ended so
    double carried_ = 0.0;                  // since then, bytes/s at most
    Instant low_since_;                     // q < 0.06 q_h since
    Instant last_low_;                      // q <= 0.25 q_h
    bool low_ = false;

    std::uint32_t congestion_losses_ = 0;                       // of this feedback, among long delays
    double blamed_random_ = 0.0;                                // what that trial left
    Instant blamed_until_;                                      // after a trial that found congestion
    SlidingExtreme<double, std::greater<>> rates_{kRatesLife};  // x before others came
    double before_ = 0.0;                                       // the highest of them
    std::optional<Instant> left_;                               // competing ended
    double left_rate_ = 0.0;                                    // with this x
    std::optional<Instant> overrun_since_;                      // q > 5 q_h, or 1.5 q_h of others' queue
    double overrun_least_ = 0.0;                                // q since it has lasted
    double overrun_most_ = 0.0;

    std::optional<Instant> drain_until_;
    Instant frozen_until_;
    Instant hold_until_;
    Instant last_drain_;
    std::optional<ArrivalSample> shortest_;       // delay since the last drain but one
    std::optional<ArrivalSample> shortest_next_;  // and well after that,
    bool dips_ = false;                           // where the queue became shorter
    std::optional<Instant> judge_drain_at_;
    double drain_queue_ = 0.0;  // q when it began, s,
    double drain_least_ = 0.0;  // and the least since
    int judged_ = 0;            // drains
    unsigned in_vain_ = 0;      // a bit for each of the last drains: the queue did not empty
};

}  // namespace udtx::congestion
