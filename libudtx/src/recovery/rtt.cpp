#include "recovery/rtt.hpp"

#include <algorithm>

namespace udtx::recovery {

void RttEstimator::add(Duration sample, Duration ack_delay) {
    sample = std::max(sample, Duration(1));
    // The minimum takes the raw sample, so that the delay that the peer reports cannot lower it (RFC 9002, section
    // 5.2).
    minimum_ = has_sample_ ? std::min(minimum_, sample) : sample;
    latest_ = sample - minimum_ >= ack_delay ? sample - ack_delay : sample;
    if (!has_sample_) {
        smoothed_ = latest_;
        variance_ = latest_ / 2;
        has_sample_ = true;
        return;
    }
    const Duration deviation = smoothed_ > latest_ ? smoothed_ - latest_ : latest_ - smoothed_;
    variance_ = (3 * variance_ + deviation) / 4;
    smoothed_ = (7 * smoothed_ + latest_) / 8;
}

void RttEstimator::reset() { *this = RttEstimator(); }

Duration RttEstimator::probe_timeout() const noexcept { return smoothed_ + std::max(4 * variance_, kGranularity); }

}  // namespace udtx::recovery
