#include "congestion/bbr/bbr.hpp"

#include <algorithm>

namespace udtx::congestion {

namespace {

constexpr double kInitialSegments = 10.0;
constexpr double kLeastSegments = 4.0;
constexpr double kPacingMargin = 0.99;  // section 5.6.2: slightly below the bandwidth, so that queues drain
constexpr double kFullGrowth = 1.25;    // section 5.3.1.2
constexpr int kFullRounds = 3;
constexpr std::uint32_t kStartupLossRanges = 6;  // section 5.3.1.3
constexpr Duration kProbeRttTime = std::chrono::milliseconds(200);
constexpr double kProbeRttGain = 0.5;
constexpr double kBurstSeconds = 250e-6;  // burst of the pacer

}  // namespace

Bbr::Bbr(const CongestionOptions& options)
    : options_(options),
      segment_(std::max(options.datagram_bytes, 1U)),
      random_(options.seed),
      window_(kInitialSegments * segment_) {}

bool Bbr::in_probe_bw() const noexcept {
    return state_ == State::down || state_ == State::cruise || state_ == State::refill || state_ == State::up;
}

bool Bbr::probing() const noexcept {
    return state_ == State::startup || state_ == State::refill || state_ == State::up;
}

double Bbr::pacing_gain() const noexcept {
    switch (state_) {
        case State::startup:
            return 2.77;
        case State::drain:
            return 0.5;
        case State::down:
            return 0.9;
        case State::up:
            return 1.25;
        case State::cruise:
        case State::refill:
        case State::probe_rtt:
            return 1.0;
    }
    return 1.0;
}

double Bbr::window_gain() const noexcept {
    if (state_ == State::up) return 2.25;
    return state_ == State::probe_rtt ? kProbeRttGain : 2.0;
}

double Bbr::least_window() const noexcept { return kLeastSegments * segment_; }

double Bbr::bdp() const noexcept {
    const double bdp = model_.bdp(model_.bandwidth());
    return bdp > 0.0 ? bdp : kInitialSegments * segment_;
}

// Section 5.6.4.2: room for bursts at the ends.
double Bbr::budget(double in_flight) const noexcept {
    const double burst = std::max(kBurstSeconds * pacing_, 2.0 * segment_);
    return std::max({in_flight, 3.0 * burst, least_window()}) + (state_ == State::up ? 2.0 * segment_ : 0.0);
}

void Bbr::on_sent(const CongestionSent& packet) {
    // Section 5.4.1: after an idle period the sender does not catch up. It also skips ProbeRTT, as the idle period
    // itself measured the minimum RTT.
    if (packet.in_flight_before == 0 && ever_sent_) {
        idle_restart_ = true;
        model_.restart_aggregation(packet.now);
        if (in_probe_bw()) pacing_ = kPacingMargin * model_.bandwidth();
    }
    ever_sent_ = true;
    const double after = static_cast<double>(packet.in_flight_before + packet.bytes);
    if (after + segment_ > static_cast<double>(window())) limited_this_round_ = true;
    model_.on_sent(packet, pacing_, state_ == State::probe_rtt);
}

void Bbr::on_feedback(const CongestionFeedback& feedback) {
    if (feedback.smoothed_rtt > Duration::zero()) smoothed_rtt_ = feedback.smoothed_rtt;
    if (feedback.persistent_timeout) silent_ = true;
    if (feedback.acked_packets > 0) silent_ = false;
    const BbrSample sample = model_.take(feedback);
    count_loss_ranges(feedback);
    on_losses(feedback);
    if (feedback.acked_packets == 0) return;
    model_.update(sample, feedback.rtt_sample, probing(), window_);
    if (model_.round_start()) {
        limited_last_round_ = limited_this_round_;
        limited_this_round_ = false;
    }
    advance_state(sample);
    model_.finish(sample);
    update_control(sample);
}

void Bbr::count_loss_ranges(const CongestionFeedback& feedback) {
    std::optional<PacketNumber> previous;
    for (const CongestionLost& lost : feedback.lost) {
        if (!previous || lost.number != *previous + 1) ++loss_ranges_;
        previous = lost.number;
    }
}

void Bbr::advance_state(const BbrSample& sample) {
    check_full_pipe(sample);
    check_startup_loss(sample);
    if (state_ == State::startup && full_pipe_) enter_drain();
    if (state_ == State::drain && static_cast<double>(sample.in_flight) <= budget(model_.bdp(model_.max_bandwidth())))
        start_down(sample.now);
    update_probe_bw(sample);
    check_probe_rtt(sample);
}

void Bbr::reset_full_pipe(double bandwidth) {
    full_bandwidth_ = bandwidth;
    full_count_ = 0;
    full_pipe_now_ = false;
}

void Bbr::check_full_pipe(const BbrSample& sample) {
    if (full_pipe_now_ || sample.application_limited) return;
    if (sample.delivery_rate >= kFullGrowth * full_bandwidth_ && sample.delivery_rate > 0.0) {
        reset_full_pipe(sample.delivery_rate);
        return;
    }
    if (!model_.round_start()) return;
    full_pipe_now_ = ++full_count_ >= kFullRounds;
    full_pipe_ = full_pipe_ || full_pipe_now_;
}

// A whole round of Startup with heavy, scattered loss means that the queue is full.
void Bbr::check_startup_loss(const BbrSample& sample) {
    if (!model_.loss_round_start()) return;
    const bool heavy =
        static_cast<double>(sample.lost) > BbrModel::kLossThreshold * static_cast<double>(sample.in_flight_at_send);
    if (state_ == State::startup && !full_pipe_ && loss_ranges_ >= kStartupLossRanges && heavy) {
        full_pipe_ = true;
        inflight_long_term_ = std::max(bdp(), model_.inflight_latest());
    }
    loss_ranges_ = 0;
}

void Bbr::enter_startup() { state_ = State::startup; }

void Bbr::enter_drain() { state_ = State::drain; }

// --- ProbeRTT (section 5.3.4)

double Bbr::probe_rtt_window() const noexcept { return std::max(kProbeRttGain * bdp(), least_window()); }

void Bbr::check_probe_rtt(const BbrSample& sample) {
    if (state_ != State::probe_rtt && model_.probe_rtt_due() && !idle_restart_) {
        state_ = State::probe_rtt;
        prior_window_ = window_;
        probe_rtt_done_.reset();
        ack_phase_ = AckPhase::probe_stopping;
        model_.start_round();
    }
    if (state_ == State::probe_rtt) hold_probe_rtt(sample);
    if (sample.delivered > 0) idle_restart_ = false;
}

void Bbr::hold_probe_rtt(const BbrSample& sample) {
    if (!probe_rtt_done_) {
        if (static_cast<double>(sample.in_flight) > probe_rtt_window()) return;
        probe_rtt_done_ = sample.now + kProbeRttTime;
        probe_rtt_round_done_ = false;
        model_.start_round();
        return;
    }
    if (model_.round_start()) probe_rtt_round_done_ = true;
    if (probe_rtt_round_done_ && sample.now > *probe_rtt_done_) leave_probe_rtt(sample.now);
}

void Bbr::leave_probe_rtt(Instant now) {
    model_.renew_probe_rtt(now);
    window_ = std::max(window_, prior_window_);
    model_.reset_short_term();
    if (!full_pipe_) {
        enter_startup();
        return;
    }
    start_down(now);
    start_cruise();
}

// --- Rate and window (section 5.6)

void Bbr::update_control(const BbrSample& sample) {
    double bandwidth = model_.bandwidth();
    if (bandwidth <= 0.0 && smoothed_rtt_ > Duration::zero()) bandwidth = window_ / to_seconds(smoothed_rtt_);
    const double rate = kPacingMargin * pacing_gain() * bandwidth;
    if (full_pipe_ || rate > pacing_) pacing_ = rate;
    set_window(sample);
}

void Bbr::set_window(const BbrSample& sample) {
    const double most = budget(window_gain() * bdp() + model_.extra_acked());
    const auto acked = static_cast<double>(sample.newly_acked);
    if (full_pipe_) {
        window_ = std::min(window_ + acked, most);
    } else if (window_ < most || static_cast<double>(model_.delivered()) < kInitialSegments * segment_) {
        window_ += acked;
    }
    window_ = std::max(window_, least_window());
    if (state_ == State::probe_rtt) window_ = std::min(window_, probe_rtt_window());
    bound_window();
}

void Bbr::bound_window() {
    double cap = static_cast<double>(options_.max_window);
    if (state_ == State::down || state_ == State::refill || state_ == State::up) {
        cap = std::min(cap, inflight_long_term_);
    } else if (state_ == State::cruise || state_ == State::probe_rtt) {
        cap = std::min(cap, inflight_with_headroom());
    }
    cap = std::max(std::min(cap, model_.inflight_short_term()), least_window());
    window_ = std::min(window_, cap);
}

void Bbr::on_limits(const PathLimits& limits) { segment_ = limits.datagram_bytes; }

std::uint64_t Bbr::window() const { return static_cast<std::uint64_t>(silent_ ? least_window() : window_); }

Rate Bbr::pacing_rate() const { return pacing_ > 0.0 ? Rate::bytes_per_second(pacing_) : Rate::infinite(); }

CongestionReport Bbr::report() const {
    CongestionReport report;
    report.slow_start = state_ == State::startup;
    report.mtr = Rate::bytes_per_second(model_.max_bandwidth());
    const Rate sending = pacing_rate();
    report.available = sending < report.mtr ? report.mtr - sending : Rate();
    return report;
}

}  // namespace udtx::congestion
