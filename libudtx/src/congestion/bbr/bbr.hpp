// BBRv3 (draft-ietf-ccwg-bbr): state machine and control parameters over the model of model.hpp. bbr.cpp has Startup,
// Drain, ProbeRTT and the window. probe_bw.cpp has the search for bandwidth. docs/lab/controllers.md lists the
// deviations from the draft.
#pragma once

#include <cstdint>
#include <optional>

#include "congestion/bbr/model.hpp"
#include "congestion/splitmix.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

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
    void check_probe_rtt(const BbrSample& sample);
    void hold_probe_rtt(const BbrSample& sample);
    void leave_probe_rtt(Instant now);
    void set_window(const BbrSample& sample);
    void bound_window();

    void on_losses(const CongestionFeedback& feedback);
    void on_lost_packet(const CongestionFeedback& feedback, const CongestionLost& lost, std::uint64_t lost_so_far);
    void update_probe_bw(const BbrSample& sample);
    void adapt_long_term(const BbrSample& sample);
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

    double inflight_long_term_ = BbrModel::kUnlimited;
    AckPhase ack_phase_ = AckPhase::none;
    bool probe_samples_ = false;  // ACKs of packets sent while probing arrive, so their losses count
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
