#include "congestion/udtx/mtr.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

namespace {
// Alpha and beta of the congestion degree's tiers (docs/inside/congestion.md), and the weights of a new estimate below
// the old one.
constexpr double kAlpha = 0.3;
constexpr double kBeta = 0.7;
constexpr double kSlow = 1.0 / 8.0;
constexpr double kFast = 7.0 / 8.0;
constexpr double kAverage = 1.0 / 300.0;  // per SYN: 3 s
constexpr double kLeastPart = 0.1;        // of the mean: a lower estimate counts as this
constexpr double kLimitGrowth = 0.02;     // of itself per second
constexpr double kCrossCheck = 1.0;       // of what was delivered: the MTR is at least this
constexpr double kDeliveryTime = 10e-3;   // s; over less, late timers and ACKs would set the highest rate
constexpr double kUsualTime = 1.0;        // s, time constant of the average delivery
constexpr double kUsualRtts = 2.0;        // and at least so many round trips
constexpr double kMostMtr = 1e12;         // bytes/s: bounds what a peer reports
}  // namespace

void UdtxMtr::on_feedback(const CongestionFeedback& feedback, double degree, Told what) {
    if (feedback.delivery) deliver(feedback.now, *feedback.delivery);
    count(feedback);
    if (limit_) *limit_ *= 1.0 + kLimitGrowth * std::clamp(to_seconds(feedback.now - updated_), 0.0, 1.0);
    updated_ = feedback.now;
    delivered_ = recent_.value(feedback.now, std::max(kRecentLife, 3 * feedback.smoothed_rtt)).value_or(0.0);
    const double most = deliveries_.value(feedback.now).value_or(0.0);
    if (feedback.line && !feedback.line->capacity.is_zero()) {
        told_ = std::min(feedback.line->capacity.bytes_per_second(), kMostMtr);
        open_ = feedback.line->only_least && feedback.line->error < 1.0;
        granularity_ = feedback.line->granularity;
        const bool least = feedback.line->only_least || what == Told::least;
        if (what != Told::least)
            mean_ = 0.0;
        else
            mean_ = averaged(mean_ > 0.0 ? mean_ : mtr_ > 0.0 ? mtr_ : told_, told_);
        const double estimate = least ? std::max(told_, kOpen * most) : told_;
        if (mtr_ <= 0.0 || (least && estimate > mtr_)) {
            mtr_ = estimate;
            smoothed_at_ = feedback.now;
        } else if (!smoothed_at_ || feedback.now - *smoothed_at_ >= kSynInterval) {
            smoothed_at_ = feedback.now;
            if (what == Told::mean)
                mtr_ = averaged(mtr_, estimate);
            else
                smooth(estimate, degree);
        }
    }
    if (mtr_ > 0.0) mtr_ = std::max(mtr_, kCrossCheck * most);
}

void UdtxMtr::deliver(Instant now, const DeliverySample& sample) {
    const double rate = sample.rate.bytes_per_second();
    const bool whole = delivery_ <= 0.0 || to_seconds(sample.interval) >= kDeliveryTime;
    // A sample spans a round trip, but one comes with each ACK.
    delivery_ += (whole ? 1.0 : std::min(1.0, to_seconds(now - updated_) / kDeliveryTime)) * (rate - delivery_);
    deliveries_.add(now, delivery_);
    recent_.add(now, rate);
}

void UdtxMtr::count(const CongestionFeedback& feedback) {
    const double time = std::max(kUsualTime, kUsualRtts * to_seconds(feedback.smoothed_rtt));
    const double passed = std::max(0.0, to_seconds(feedback.now - updated_));
    usual_ = usual_ * std::exp(-passed / time) + static_cast<double>(feedback.acked_bytes) / time;
}

// All estimates are equally good, so the mean of the times per byte counts.
double UdtxMtr::averaged(double mean, double estimate) {
    const double time = 1.0 / mean;
    return 1.0 / (time + kAverage * (1.0 / std::max(estimate, kLeastPart * mean) - time));
}

void UdtxMtr::smooth(double estimate, double degree) {
    double weight = kSlow;
    if (estimate < mtr_) weight = degree < kAlpha ? kSlow : degree <= kBeta ? kFast : 1.0;
    mtr_ += weight * (estimate - mtr_);
}

}  // namespace udtx::congestion
