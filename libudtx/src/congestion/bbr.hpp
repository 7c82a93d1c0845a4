// BBRv3 (draft-ietf-ccwg-bbr): samples of packets, the model of the path, and the state machine over it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

#include "congestion/splitmix.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

// State that BBR keeps of each packet from its departure on (draft-ietf-ccwg-bbr, section 5.2), and the rate sample of
// an ACK.

/// Totals of the connection when the packet left, and bytes in flight including it; bytes.
struct BbrPacket {
    PacketNumber number = 0;
    Instant sent;
    std::uint64_t delivered = 0;
    std::uint64_t lost = 0;
    std::uint64_t in_flight = 0;
    double pace = 1.0;        ///< pacing rate / bandwidth
    bool restrained = false;  ///< sent during ProbeRTT: counts like an application with little to send
};

class BbrPackets {
  public:
    void on_sent(const BbrPacket& packet) { packets_.push_back(packet); }
    /// Null for a number that did not count as in flight or was forgotten.
    [[nodiscard]] const BbrPacket* find(PacketNumber number) const {
        const auto at =
            std::lower_bound(packets_.begin(), packets_.end(), number,
                             [](const BbrPacket& packet, PacketNumber wanted) { return packet.number < wanted; });
        return at != packets_.end() && at->number == number ? &*at : nullptr;
    }
    /// Forgets packets before `number` that left before `sent`: by now they are acknowledged or lost.
    void forget(PacketNumber number, Instant sent) {
        while (!packets_.empty() && packets_.front().number < number && packets_.front().sent < sent)
            packets_.pop_front();
    }

  private:
    std::deque<BbrPacket> packets_;  // ascending numbers
};

/// Rate sample of one ACK (RS in the draft); rates in bytes/s.
struct BbrSample {
    Instant now;
    double delivery_rate = 0.0;           ///< 0: no sample
    double pace = 1.0;                    ///< of the newest acknowledged packet
    std::uint64_t delivered = 0;          ///< since the newest acknowledged packet left
    std::uint64_t prior_delivered = 0;    ///< total when that packet left
    std::uint64_t in_flight_at_send = 0;  ///< including that packet
    std::uint64_t lost = 0;               ///< since that packet left
    std::uint64_t newly_acked = 0;
    std::uint64_t in_flight_before = 0;  ///< before this feedback
    std::uint64_t in_flight = 0;         ///< now
    bool restrained = false;             ///< the newest acknowledged packet left during or right after ProbeRTT
    bool application_limited = false;    ///< or restrained
};

// BBR's model of the path: bandwidth, bytes in flight, RTT (draft-ietf-ccwg-bbr, sections 5.5.1 to 5.5.9 and 5.5.10.3).
// The state machine in bbr.hpp decides when to probe for more.

class BbrModel {
  public:
    static constexpr double kUnlimited = std::numeric_limits<double>::infinity();
    static constexpr double kBeta = 0.7;
    static constexpr double kLossThreshold = 0.02;
    static constexpr Duration kMinRttWindow = std::chrono::seconds(10);
    static constexpr Duration kProbeRttInterval = std::chrono::seconds(5);
    static constexpr std::uint64_t kStartupAggregationRounds = 1;
    static constexpr std::uint64_t kAggregationRounds = 10;

    /// `pacing` in bytes/s; `restrained`: by ProbeRTT.
    void on_sent(const CongestionSent& packet, double pacing, bool restrained);
    /// Adds to the totals and returns the sample of this feedback. Then call update(), the state machine, finish(), in
    /// this order.
    [[nodiscard]] BbrSample take(const CongestionFeedback& feedback);
    /// Updates rounds, bandwidth, minimum RTT and aggregation. `probing`: losses are expected and do not lower the
    /// bounds.
    /// `aggregation_rounds`: length of the window of extra_acked().
    void update(const BbrSample& sample, std::optional<Duration> rtt, bool probing, double window,
                std::uint64_t aggregation_rounds);
    void finish(const BbrSample& sample);
    void note_loss();
    [[nodiscard]] const BbrPacket* find(PacketNumber number) const { return packets_.find(number); }

    void start_round() noexcept { next_round_delivered_ = delivered_; }
    void reset_short_term() noexcept { bw_short_term_ = inflight_short_term_ = kUnlimited; }
    void reset_signals() noexcept;
    void advance_bandwidth_filter() noexcept;
    void restart_aggregation(Instant now) noexcept;
    void renew_probe_rtt(Instant now) noexcept { probe_rtt_stamp_ = now; }

    [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    [[nodiscard]] bool round_start() const noexcept { return round_start_; }
    [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_; }
    [[nodiscard]] bool loss_round_start() const noexcept { return loss_round_start_; }
    [[nodiscard]] bool probe_rtt_due() const noexcept { return probe_rtt_due_; }
    [[nodiscard]] double max_bandwidth() const noexcept;
    [[nodiscard]] double bandwidth() const noexcept;  ///< bounded by the short-term model
    [[nodiscard]] double inflight_short_term() const noexcept { return inflight_short_term_; }
    [[nodiscard]] double inflight_latest() const noexcept { return inflight_latest_; }
    [[nodiscard]] std::optional<Duration> min_rtt() const noexcept { return min_rtt_; }
    [[nodiscard]] double bdp(double bandwidth) const noexcept;  ///< 0 without a minimum RTT
    [[nodiscard]] double extra_acked() const noexcept;

  private:
    void update_round(const BbrSample& sample);
    void update_bandwidth(const BbrSample& sample);
    void update_bounds(const BbrSample& sample, bool probing, double window);
    void update_aggregation(const BbrSample& sample, double window, std::uint64_t rounds);
    void update_min_rtt(Instant now, std::optional<Duration> rtt);

    BbrPackets packets_;
    std::uint64_t delivered_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t restrained_until_ = 0;  // bytes of total delivery

    std::uint64_t next_round_delivered_ = 0;
    std::uint64_t rounds_ = 0;
    bool round_start_ = false;

    std::array<double, 2> bandwidth_{};  // largest of each of the last two ProbeBW cycles
    double bw_short_term_ = kUnlimited;
    double inflight_short_term_ = kUnlimited;
    double bw_latest_ = 0.0;
    double inflight_latest_ = 0.0;
    std::uint64_t loss_round_delivered_ = 0;
    bool loss_round_start_ = false;
    bool loss_in_round_ = false;

    std::optional<Duration> min_rtt_;
    Instant min_rtt_stamp_;
    std::optional<Duration> probe_rtt_min_;
    Instant probe_rtt_stamp_;
    bool probe_rtt_due_ = false;

    std::deque<std::pair<std::uint64_t, double>> extra_acked_;  // (round, bytes), bytes descending: windowed maximum
    double aggregated_ = 0.0;
    std::optional<Instant> aggregation_start_;
};

// BBRv3 (draft-ietf-ccwg-bbr): state machine and control parameters over the model above. docs/lab/controllers.md
// lists the deviations from the draft.

class Bbr final : public CongestionController {
  public:
    enum class State : std::uint8_t { startup, drain, down, cruise, refill, up, probe_rtt };

    explicit Bbr(const CongestionOptions& options);

    void on_sent(const CongestionSent& packet) override;
    void on_feedback(const CongestionFeedback& feedback) override;
    void on_limits(const PathLimits& limits) override;
    [[nodiscard]] std::uint64_t window() const override;
    [[nodiscard]] Rate pacing_rate() const override;
    [[nodiscard]] CongestionReport report() const override;

    // For tests.
    [[nodiscard]] State state() const noexcept { return state_; }
    [[nodiscard]] const BbrModel& model() const noexcept { return model_; }
    [[nodiscard]] double inflight_long_term() const noexcept { return inflight_long_term_; }

  private:
    /// State in which the packets acknowledged now were sent.
    enum class AckPhase : std::uint8_t { none, refilling, probe_starting, probe_feedback, probe_stopping };

    void count_loss_ranges(const CongestionFeedback& feedback);
    void advance_state(const BbrSample& sample);
    void update_control(const BbrSample& sample);
    void check_full_pipe(const BbrSample& sample);
    void check_startup_loss(const BbrSample& sample);
    void reset_full_pipe(double bandwidth);
    void enter_startup();
    void enter_drain();
    [[nodiscard]] bool drained(const BbrSample& sample) const noexcept;
    void check_probe_rtt(const BbrSample& sample);
    void hold_probe_rtt(const BbrSample& sample);
    void leave_probe_rtt(Instant now);
    void set_window(const BbrSample& sample);
    void bound_window();

    void on_losses(const CongestionFeedback& feedback);
    void on_lost_packet(const CongestionFeedback& feedback, const CongestionLost& lost, std::uint64_t lost_so_far);
    void update_probe_bw(const BbrSample& sample);
    /// True if it started a probe.
    bool adapt_long_term(const BbrSample& sample);
    void raise_long_term(const BbrSample& sample);
    void raise_slope();
    void on_inflight_too_high(Instant now, double in_flight, bool application_limited);
    void start_down(Instant now);
    void start_cruise();
    void start_refill();
    void start_up(const BbrSample& sample);
    [[nodiscard]] bool time_to_probe(Instant now);
    [[nodiscard]] bool time_to_cruise(const BbrSample& sample) const;
    [[nodiscard]] bool time_to_go_down(const BbrSample& sample);
    [[nodiscard]] bool reaches_long_term(const BbrSample& sample) const noexcept;

    [[nodiscard]] bool in_probe_bw() const noexcept;
    [[nodiscard]] bool probing() const noexcept;
    [[nodiscard]] bool window_limited() const noexcept { return limited_this_round_ || limited_last_round_; }
    [[nodiscard]] double pacing_gain() const noexcept;
    [[nodiscard]] double window_gain() const noexcept;
    [[nodiscard]] double bdp() const noexcept;
    [[nodiscard]] double least_window() const noexcept;
    [[nodiscard]] double budget(double in_flight) const noexcept;
    [[nodiscard]] double target_inflight() const noexcept;
    [[nodiscard]] double inflight_with_headroom() const noexcept;
    [[nodiscard]] double probe_rtt_window() const noexcept;

    CongestionOptions options_;
    double segment_;
    SplitMix random_;
    BbrModel model_;
    State state_ = State::startup;
    double window_;
    double pacing_ = 0.0;  // bytes/s; 0: not set yet

    bool full_pipe_ = false;      // Startup has found the bandwidth
    bool full_pipe_now_ = false;  // no growth for three rounds
    double full_bandwidth_ = 0.0;
    int full_count_ = 0;
    std::uint32_t loss_ranges_ = 0;  // ranges of lost packets in this round of Startup
    std::uint64_t drain_round_ = 0;  // at which Drain started

    double inflight_long_term_ = BbrModel::kUnlimited;
    AckPhase ack_phase_ = AckPhase::none;
    bool probe_samples_ = false;        // ACKs of packets sent while probing arrive, so their losses count
    bool prev_probe_too_high_ = false;  // the last UP lost more than the threshold
    bool prev_probe_cautious_ = false;  // the last UP stopped as it reached the long-term bound
    Instant cycle_start_;
    Duration probe_wait_{};
    std::uint64_t rounds_at_probe_ = 0;
    int up_rounds_ = 0;
    double up_step_ = BbrModel::kUnlimited;  // bytes acknowledged per segment of growth
    double up_acked_ = 0.0;

    std::optional<Instant> probe_rtt_done_;
    bool probe_rtt_round_done_ = false;
    double prior_window_ = 0.0;

    bool idle_restart_ = false;
    bool ever_sent_ = false;
    bool silent_ = false;  // after two probe timeouts in a row, until the next ACK
    bool limited_this_round_ = false;
    bool limited_last_round_ = false;
    Duration smoothed_rtt_{};
};

}  // namespace udtx::congestion
