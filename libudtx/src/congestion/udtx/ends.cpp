#include "congestion/udtx/ends.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

namespace {

constexpr double kUsualLoss = 0.005;  // of the packets of a round trip or SYN: more means that a socket was full
constexpr double kDeviations = 2.0;   // standard deviations by which the loss must exceed that
constexpr double kLess = 0.7;
constexpr double kMore = 1.01;
constexpr double kLeast = 1.0 / 32.0;

}  // namespace

void UdtxEnds::on_feedback(const CongestionFeedback& feedback, const UdtxLoss::Counts& counts) {
    packets_ += counts.low;
    lost_ += counts.low_lost;
    if (feedback.now - judged_ < std::max(kSynInterval, feedback.smoothed_rtt) || packets_ <= 0.0) return;
    const double usual = kUsualLoss * packets_;
    if (lost_ > usual + kDeviations * std::sqrt(usual)) {
        fit_ = std::max(fit_ * kLess, kLeast);
    } else if (!feedback.application_limited) {
        fit_ = std::min(fit_ * kMore, 1.0);
    }
    judged_ = feedback.now;
    packets_ = lost_ = 0.0;
}

}  // namespace udtx::congestion
