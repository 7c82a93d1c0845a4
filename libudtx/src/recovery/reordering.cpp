#include "recovery/reordering.hpp"

#include <algorithm>

namespace udtx::recovery {

void ReorderingTolerance::on_spurious(Instant now, std::uint64_t distance, Duration late, Duration min_rtt,
                                      Duration smoothed) {
    calm_since_ = now;
    packets_ = std::clamp(distance + 1, packets_, kMaxPacketThreshold);
    if (late <= Duration::zero()) return;
    const Duration step = std::max(min_rtt / 4, Duration(1));
    const Duration wanted = (late / step + 1) * step;
    window_ = std::min(std::max(window_, wanted), smoothed);
}

void ReorderingTolerance::decay(Instant now, Duration smoothed) {
    if (!calm_since_ || now - *calm_since_ < kCalmRounds * smoothed) return;
    packets_ = std::max(packets_ / 2, kPacketThreshold);
    window_ /= 2;
    if (window_ < smoothed / 16) window_ = Duration::zero();
    if (packets_ == kPacketThreshold && window_ == Duration::zero()) {
        calm_since_.reset();
    } else {
        calm_since_ = now;
    }
}

}  // namespace udtx::recovery
