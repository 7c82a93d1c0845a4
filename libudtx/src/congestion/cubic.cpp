#include "congestion/cubic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace udtx::congestion {

namespace {

constexpr double kInitialSegments = 10.0;  // RFC 6928
constexpr double kMinSegments = 2.0;       // RFC 9002, section 7.2
constexpr double kAlpha = 3.0 * (1.0 - Cubic::kBeta) / (1.0 + Cubic::kBeta);
constexpr double kMaxStep = 1.5;  // the target is at most so many windows (RFC 9438, section 4.2)
constexpr double kSlowStartPacing = 2.0;
constexpr double kPacing = 1.25;   // RFC 9002, section 7.7
constexpr double kUsedPart = 0.9;  // acknowledgements come in steps of a SYN: the flight is not full all the time
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

}  // namespace

Cubic::Cubic(const CongestionOptions& options)
    : options_(options),
      segment_(std::max(options.datagram_bytes, 1U)),
      window_(kInitialSegments * segment_),
      threshold_(kUnlimited) {}

// After a pause the path may have changed: half the window for every time-out of silence (RFC 2861, section 2), but
// what was known about the path stays the slow-start threshold.
void Cubic::on_sent(const CongestionSent& packet) {
    const Duration timeout = smoothed_rtt_ + std::max(4 * rtt_variance_, Duration(std::chrono::milliseconds(1)));
    const double initial = kInitialSegments * segment_;
    if (packet.in_flight_before == 0 && last_sent_ && smoothed_rtt_ > Duration::zero() && window_ > initial &&
        packet.now - *last_sent_ > timeout) {
        threshold_ = std::max(threshold_ == kUnlimited ? 0.0 : threshold_, 0.75 * window_);
        const auto timeouts = static_cast<double>((packet.now - *last_sent_) / timeout);
        window_ = std::max(window_ * std::exp2(-std::min(timeouts, 64.0)), initial);
        epoch_.reset();
        hystart_.restart();
    }
    last_sent_ = packet.now;
    most_in_flight_ = std::max(most_in_flight_, static_cast<double>(packet.in_flight_before + packet.bytes));
}

void Cubic::on_feedback(const CongestionFeedback& feedback) {
    if (feedback.smoothed_rtt > Duration::zero()) {
        smoothed_rtt_ = feedback.smoothed_rtt;
        rtt_variance_ = feedback.rtt_variance;
    }
    // What was never filled proves nothing, and its time does not count for W_cubic (RFC 9438, section 4.2).
    const bool used = window_used(feedback);
    if (!used && epoch_ && last_feedback_) *epoch_ += feedback.now - *last_feedback_;
    if (feedback.persistent_timeout) {
        on_silence(feedback);
    } else if (!feedback.lost.empty() && (!recovery_until_ || feedback.lost.back().number > *recovery_until_)) {
        on_congestion(feedback);
    } else if (feedback.acked_packets > 0 && used) {
        on_acked(feedback);
    }
    if (feedback.acked_packets > 0) silent_ = false;
    most_in_flight_ = static_cast<double>(feedback.in_flight_after);
    last_feedback_ = feedback.now;
}

bool Cubic::window_used(const CongestionFeedback& feedback) const {
    const double most = std::max(most_in_flight_, static_cast<double>(feedback.in_flight_before));
    return most + 2.0 * segment_ >= window_ * (in_slow_start() ? 0.5 : kUsedPart);
}

void Cubic::on_acked(const CongestionFeedback& feedback) {
    if (recovery_until_ && feedback.largest_acked <= *recovery_until_) return;
    if (in_slow_start()) {
        grow_slow_start(feedback);
    } else {
        grow_cubic(feedback);
    }
    window_ = std::min(window_, std::max(static_cast<double>(options_.max_window), kMinSegments * segment_));
}

void Cubic::grow_slow_start(const CongestionFeedback& feedback) {
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

// The first growth after a reduction, after slow start or after a pause opens the epoch.
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

void Cubic::grow_cubic(const CongestionFeedback& feedback) {
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
    // Fast convergence (section 4.7): a smaller maximum than last time makes room for whoever has come.
    window_max_ = window_ < window_max_ ? window_ * (1.0 + kBeta) / 2.0 : window_;
    threshold_ = std::max(window_ * kBeta, kMinSegments * segment_);
    window_ = threshold_;
    epoch_.reset();
}

// Once a round trip: what was sent before the window shrank says nothing about the new one.
void Cubic::on_congestion(const CongestionFeedback& feedback) {
    reduce();
    recovery_until_ = feedback.largest_sent;
}

// RFC 9438, section 4.8, and RFC 9002, section 7.6: what was in flight is gone, slow start up to the threshold.
void Cubic::on_silence(const CongestionFeedback& feedback) {
    if (!std::exchange(silent_, true)) reduce();
    window_ = kMinSegments * segment_;
    recovery_until_ = feedback.largest_sent;
    hystart_.restart();
}

void Cubic::on_mtu(std::uint32_t bytes) {
    if (bytes > 0) segment_ = bytes;
}

std::uint64_t Cubic::window() const { return static_cast<std::uint64_t>(std::max(window_, kMinSegments * segment_)); }

Rate Cubic::pacing_rate() const {
    if (smoothed_rtt_ <= Duration::zero()) return Rate::infinite();
    const double gain = in_slow_start() ? kSlowStartPacing : kPacing;
    return Rate::bytes_per_second(gain * window_ / to_seconds(smoothed_rtt_));
}

CongestionReport Cubic::report() const {
    CongestionReport report;
    report.slow_start = in_slow_start();
    return report;
}

}  // namespace udtx::congestion
