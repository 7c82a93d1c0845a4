#include "congestion/udtx_pauses.hpp"

#include <algorithm>

namespace udtx::congestion {

namespace {
constexpr double kReach = 0.43;  // of the base RTT: 0.7 of what is in flight with a longer queue leaves some of it
constexpr double kCrowd = 4.0;   // q_h: what fifteen of our own kind make
constexpr double kStands = 0.5;  // s, and four round trips: longer than what newcomers of our own kind make
constexpr double kPause = 0.5;   // s, and four round trips: whoever is away for longer has ended
constexpr Duration kMemory = std::chrono::seconds(25);  // two of Linux's
}  // namespace

void UdtxPauses::on_feedback(Instant now, const Line& line) {
    if (line.drained) {
        stands_since_.reset();
        empty_since_.reset();
        return;
    }
    const double high = std::max(kReach * line.base_rtt + line.half_delay, kCrowd * line.half_delay);
    // Two reductions are a round trip apart at least: what falls faster is none.
    const bool at_once = to_seconds(now - high_) < line.base_rtt + line.ack_interval + high;
    if (line.queue > high) {
        if (!stands_since_) stands_since_ = now;
        high_ = now;
    } else if (stands_since_ && line.queue <= 0.5 * line.half_delay) {
        if (at_once && to_seconds(high_ - *stands_since_) > kStands + 4.0 * line.base_rtt) empty_since_ = now;
        stands_since_.reset();
    } else if (line.queue < 0.5 * high && !at_once) {
        stands_since_.reset();
    }
    if (empty_since_ && line.queue > 0.5 * high) look_for_end(now, line);
}

void UdtxPauses::look_for_end(Instant now, const Line& line) {
    if (to_seconds(now - *empty_since_) < kPause + 4.0 * line.base_rtt) {
        before_last_ = last_;
        last_ = now;
    }
    empty_since_.reset();
}

bool UdtxPauses::regular(Instant now) const { return before_last_ && now - *before_last_ <= kMemory; }

}  // namespace udtx::congestion
