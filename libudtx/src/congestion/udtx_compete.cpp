#include "congestion/udtx_compete.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

namespace {
constexpr double kC = 0.4;                // segments/s^3, RFC 9438, section 5
constexpr double kBeta = 0.7;             // RFC 9438, section 4.6
constexpr double kDip = 0.75;             // of the highest queue of 2 s: somebody has backed off
constexpr double kDrainGap = 4.0;         // s between drains, at least
constexpr double kDrainAnyway = 8.0;      // s, and at most
constexpr double kMaxGrowthPerRtt = 1.5;  // RFC 9438, section 4.4
}  // namespace

void UdtxCompete::enter(Instant now, double window, double goal) {
    *this = UdtxCompete();
    active_ = true;
    window_ = origin_ = window;
    window_max_ = std::max(goal, window);
    epoch_ = round_ = last_drain_ = now;
}

void UdtxCompete::on_feedback(const CongestionFeedback& feedback, std::uint32_t congestion_losses, double random_loss,
                              double queue, double rtt, double segment) {
    const Instant now = feedback.now;
    if (to_seconds(now - round_) > rtt) {
        round_ = now;
        losses_ = packets_ = 0.0;
    }
    losses_ += congestion_losses;
    packets_ += feedback.acked_packets + congestion_losses;
    const double expected = random_loss * packets_;
    if (congestion_losses > 0 && losses_ > expected + 2.0 * std::sqrt(expected) &&
        feedback.lost.back().number > recovery_until_) {
        recovery_until_ = feedback.largest_sent;
        reduce(now, segment);
    }
    // W(t) = C (t - K)^3 + W_max, K from the window at the start of the epoch.
    const double k = std::cbrt(std::max(0.0, window_max_ - origin_) / segment / kC);
    const double t = to_seconds(now - epoch_) + rtt - k;
    const double target = std::clamp(kC * t * t * t * segment + window_max_, origin_, kMaxGrowthPerRtt * window_);
    const double share = std::min(1.0, static_cast<double>(feedback.acked_bytes) / std::max(window_, 1.0));
    if (target > window_ && !feedback.application_limited) window_ += share * (target - window_);

    peaks_.add(now, queue);
    if (queue < kDip * peaks_.value(now).value_or(0.0)) drain_due_ = true;
    if (to_seconds(now - last_drain_) > kDrainAnyway) drain_due_ = true;
}

void UdtxCompete::reduce(Instant now, double segment) {
    // Fast convergence, RFC 9438, section 4.7.
    window_max_ = window_ < window_max_ ? window_ * (1.0 + kBeta) / 2.0 : window_;
    window_ = origin_ = std::max(window_ * kBeta, 4.0 * segment);
    epoch_ = now;
    drain_due_ = true;
}

bool UdtxCompete::take_drain(Instant now) {
    const bool due = drain_due_ && to_seconds(now - last_drain_) > kDrainGap;
    drain_due_ = false;
    if (due) last_drain_ = now;
    return due;
}

}  // namespace udtx::congestion
