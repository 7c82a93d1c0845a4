#include "congestion/window.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace udtx::congestion {

HyStart::Verdict HyStart::on_ack(const CongestionFeedback& feedback) {
    if (!window_end_) window_end_ = feedback.largest_sent;
    if (feedback.rtt_sample) {
        this_round_ = this_round_ ? std::min(*this_round_, *feedback.rtt_sample) : *feedback.rtt_sample;
        // The RFC counts ACKs of one or two packets each. Here an ACK covers up to one SYN of packets and is less
        // noisy.
        samples_ += feedback.acked_packets;
    }
    if (samples_ >= kSamples) judge();
    if (feedback.acked_packets > 0 && feedback.largest_acked >= *window_end_) end_round(feedback);
    if (!baseline_) return Verdict::slow_start;
    return rounds_ >= kConservativeRounds ? Verdict::done : Verdict::conservative;
}

// RFC 9406, section 4.2: enters conservative slow start when the RTT grows, and leaves it if the RTT falls again.
void HyStart::judge() {
    if (baseline_) {
        if (*this_round_ >= *baseline_) return;
        baseline_.reset();
        rounds_ = 0;
        return;
    }
    if (!last_round_) return;
    const Duration threshold = std::clamp(*last_round_ / kThresholdDivisor, kMinThreshold, kMaxThreshold);
    if (*this_round_ >= *last_round_ + threshold) baseline_ = this_round_;
}

void HyStart::end_round(const CongestionFeedback& feedback) {
    window_end_ = feedback.largest_sent;
    if (this_round_) last_round_ = this_round_;
    this_round_.reset();
    samples_ = 0;
    if (baseline_) ++rounds_;
}

namespace {

constexpr double kInitialSegments = 10.0;  // RFC 6928
constexpr double kSlowStartPacing = 2.0;
constexpr double kPacing = 1.25;         // RFC 9002, section 7.7
constexpr double kUsedPart = 0.9;        // ACKs come once per SYN, so the window is not always full
constexpr std::uint32_t kUsualAck = 64;  // recovery::AckTracker::kPacketsPerAck
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

}  // namespace

LossWindow::LossWindow(const CongestionOptions& options)
    : options_(options),
      segment_(std::max(options.datagram_bytes, 1U)),
      window_(kInitialSegments * segment_),
      threshold_(kUnlimited) {}

// After a pause the path may have changed. The window halves for each timeout of the pause (RFC 2861, section 2). What
// was known about the path remains in the slow-start threshold.
void LossWindow::on_sent(const CongestionSent& packet) {
    const Duration timeout = smoothed_rtt_ + std::max(4 * rtt_variance_, Duration(std::chrono::milliseconds(1)));
    const double initial = kInitialSegments * segment_;
    if (packet.in_flight_before == 0 && last_sent_ && smoothed_rtt_ > Duration::zero() && window_ > initial &&
        packet.now - *last_sent_ > timeout) {
        threshold_ = std::max(threshold_ == kUnlimited ? 0.0 : threshold_, 0.75 * window_);
        const auto timeouts = static_cast<double>((packet.now - *last_sent_) / timeout);
        window_ = std::max(window_ * std::exp2(-std::min(timeouts, 64.0)), initial);
        on_pause();
        hystart_.restart();
    }
    last_sent_ = packet.now;
    most_in_flight_ = std::max(most_in_flight_, static_cast<double>(packet.in_flight_before + packet.bytes));
}

void LossWindow::on_feedback(const CongestionFeedback& feedback) {
    if (feedback.smoothed_rtt > Duration::zero()) {
        smoothed_rtt_ = feedback.smoothed_rtt;
        rtt_variance_ = feedback.rtt_variance;
    }
    ack_spacing_ = feedback.ack_spacing;
    // A window that was not filled proves nothing.
    const bool used = window_used(feedback);
    if (!used && last_feedback_) on_unused(feedback.now - *last_feedback_);
    if (feedback.persistent_timeout) {
        on_silence(feedback);
    } else if (!feedback.lost.empty() && (!recovery_until_ || feedback.lost.back().number > *recovery_until_)) {
        // At most once per round trip: packets sent before the window shrank say nothing about the new window.
        reduce();
        recovery_until_ = feedback.largest_sent;
    } else if (feedback.acked_packets > 0 && used) {
        on_acked(feedback);
    }
    if (feedback.acked_packets > 0) silent_ = false;
    most_in_flight_ = static_cast<double>(feedback.in_flight_after);
    last_feedback_ = feedback.now;
}

bool LossWindow::window_used(const CongestionFeedback& feedback) const {
    const double most = std::max(most_in_flight_, static_cast<double>(feedback.in_flight_before));
    return most + 2.0 * segment_ >= window_ * (in_slow_start() ? 0.5 : kUsedPart);
}

void LossWindow::on_acked(const CongestionFeedback& feedback) {
    if (recovery_until_ && feedback.largest_acked <= *recovery_until_) return;
    if (in_slow_start()) {
        grow_slow_start(feedback);
    } else {
        avoid_in_steps(feedback);
    }
    window_ = std::min(window_, std::max(static_cast<double>(options_.max_window), kMinSegments * segment_));
}

// An ACK of many packets counts like the ACKs that a wide return path would have carried. Each of them uses the window
// that the one before has set.
void LossWindow::avoid_in_steps(const CongestionFeedback& feedback) {
    const std::uint32_t steps = (feedback.acked_packets + kUsualAck - 1) / kUsualAck;
    if (steps <= 1) {
        avoid(feedback);
        return;
    }
    CongestionFeedback step;
    step.now = feedback.now;
    for (std::uint32_t i = 0; i < steps; ++i) {
        step.acked_bytes = feedback.acked_bytes * (i + 1) / steps - feedback.acked_bytes * i / steps;
        avoid(step);
    }
}

void LossWindow::grow_slow_start(const CongestionFeedback& feedback) {
    const auto acked = static_cast<double>(feedback.acked_bytes);
    switch (hystart_.on_ack(feedback)) {
        case HyStart::Verdict::slow_start:
            window_ = std::min(window_ + acked, std::max(threshold_, window_));
            break;
        case HyStart::Verdict::conservative:
            window_ += acked / HyStart::kConservativeDivisor;
            break;
        case HyStart::Verdict::done:
            threshold_ = window_;
            break;
    }
}

// RFC 9002, section 7.6: all in flight is lost, and slow start grows up to the threshold. Before the first ACK there is
// no threshold to set: on a narrow return path that ACK is later than any estimate (RFC 5681, section 3.1, of a lost
// SYN).
void LossWindow::on_silence(const CongestionFeedback& feedback) {
    if (!std::exchange(silent_, true)) reduce();
    window_ = kMinSegments * segment_;
    recovery_until_ = feedback.largest_sent;
    hystart_.restart();
}

void LossWindow::on_limits(const PathLimits& limits) { segment_ = limits.datagram_bytes; }

std::uint64_t LossWindow::window() const {
    return static_cast<std::uint64_t>(std::max(window_, kMinSegments * segment_));
}

Rate LossWindow::pacing_rate() const {
    if (smoothed_rtt_ <= Duration::zero()) return Rate::infinite();
    const double gain = in_slow_start() ? kSlowStartPacing : kPacing;
    // A window lasts until it is acknowledged, which takes longer than a round trip if ACKs are sparse.
    return Rate::bytes_per_second(gain * window_ / to_seconds(smoothed_rtt_ + ack_spacing_));
}

CongestionReport LossWindow::report() const {
    CongestionReport report;
    report.slow_start = in_slow_start();
    report.counts_acks = true;
    return report;
}

namespace {

constexpr double kAlpha = 3.0 * (1.0 - Cubic::kBeta) / (1.0 + Cubic::kBeta);
constexpr double kMaxStep = 1.5;  // in windows, most of the target (RFC 9438, section 4.2)

}  // namespace

// Time in which the window was not filled does not count for W_cubic (RFC 9438, section 4.2).
void Cubic::on_unused(Duration time) {
    if (epoch_) *epoch_ += time;
}

// The first growth after a reduction, slow start or a pause starts the epoch.
void Cubic::start_epoch(Instant now) {
    epoch_ = now;
    estimate_ = window_;
    if (window_ < window_max_) {
        k_ = std::cbrt((window_max_ - window_) / (kC * segment_));  // eq. 2
    } else {
        // Slow start ended without a loss, or passed the old maximum (section 4.8).
        k_ = 0.0;
        window_max_ = window_;
        prior_window_ = window_;
    }
}

double Cubic::cubic_at(double seconds) const {
    const double x = seconds - k_;
    return kC * segment_ * x * x * x + window_max_;  // eq. 1
}

void Cubic::avoid(const CongestionFeedback& feedback) {
    if (!epoch_) start_epoch(feedback.now);
    const double t = to_seconds(feedback.now - *epoch_);
    const double acked_segments = static_cast<double>(feedback.acked_bytes) / segment_;
    const double alpha = estimate_ < prior_window_ ? kAlpha : 1.0;
    estimate_ += alpha * segment_ * acked_segments * segment_ / window_;  // eq. 4
    if (cubic_at(t) < estimate_) {
        window_ = std::max(window_, estimate_);
        return;
    }
    const double target = std::clamp(cubic_at(t + to_seconds(smoothed_rtt_)), window_, kMaxStep * window_);
    window_ += (target - window_) * std::min(acked_segments * segment_ / window_, 1.0);
}

void Cubic::reduce() {
    prior_window_ = window_;
    // Fast convergence (section 4.7): a maximum smaller than the last one makes room for new flows.
    window_max_ = window_ < window_max_ ? window_ * (1.0 + kBeta) / 2.0 : window_;
    threshold_ = std::max(window_ * kBeta, kMinSegments * segment_);
    window_ = threshold_;
    epoch_.reset();
}

Lia::Lia(const CongestionOptions& options, std::shared_ptr<CouplingGroup> group)
    : LossWindow(options), group_(group ? std::move(group) : std::make_shared<CouplingGroup>()), id_(group_->join()) {}

void Lia::on_feedback(const CongestionFeedback& feedback) {
    LossWindow::on_feedback(feedback);
    auto& self = group_->member(id_);
    self.window = window_;
    self.rtt = to_seconds(smoothed_rtt_);
}

// cwnd_i += min(alpha acked MSS_i / cwnd_total, acked MSS_i / cwnd_i) (section 3). The second term is what a single
// flow adds.
void Lia::avoid(const CongestionFeedback& feedback) {
    const double acked = static_cast<double>(feedback.acked_bytes) * segment_;
    const double total = std::max(group_->total_window(), window_);
    window_ += std::min(group_->alpha() * acked / total, acked / window_);
}

void Lia::reduce() {
    threshold_ = std::max(window_ / 2.0, kMinSegments * segment_);
    window_ = threshold_;
}

}  // namespace udtx::congestion
