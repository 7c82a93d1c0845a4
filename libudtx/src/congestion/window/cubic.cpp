#include "congestion/window/cubic.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

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

}  // namespace udtx::congestion
