#include "congestion/udtx/pauses.hpp"

#include <algorithm>
#include <limits>

namespace udtx::congestion {

namespace {
constexpr double kReach = 0.43;    // of the base RTT: 0.7 of what is in flight with a longer queue leaves some of it
constexpr double kCrowd = 4.0;     // q_h: what fifteen of our own kind make
constexpr double kFew = 2.0;       // q_h, where the buffer overflows: our own kind does not keep that up
constexpr double kNotFull = 0.75;  // of the full buffer: nothing is lost below, and CUBIC reduces only after a loss
constexpr double kStands = 0.5;    // s, and four round trips: longer than what newcomers of our own kind make
constexpr double kPause = 0.5;     // s, and four round trips: whoever is away for longer has ended
constexpr Duration kMemory = std::chrono::seconds(25);  // two of Linux's
}  // namespace

void UdtxPauses::on_feedback(Instant now, const Line& line) {
    const double high = std::max(kReach * line.base_rtt + line.half_delay, kCrowd * line.half_delay);
    if (line.drained) {
        long_.on_drained(now, line.queue, high);
        below_full_.on_drained(now, line.queue, kFew * line.half_delay);
        return;
    }
    long_.on_feedback(now, line, high, std::numeric_limits<double>::max());
    look_for_end(now, line, long_, 0.5 * high);
    const double low = kFew * line.half_delay;
    if (line.full <= 2.0 * low) {
        below_full_ = {};
        return;
    }
    below_full_.on_feedback(now, line, low, kNotFull * line.full);
    look_for_end(now, line, below_full_, 0.5 * low);
}

void UdtxPauses::Watch::on_feedback(Instant now, const Line& line, double high, double top) {
    // Two reductions are a round trip apart at least: what falls faster is none.
    const bool at_once = to_seconds(now - high_at) < line.base_rtt + line.ack_interval + high;
    const bool below = line.queue <= top;
    if (below && line.queue > high) {
        if (!stands_since) stands_since = now;
        high_at = now;
    } else if (below && stands_since && line.queue <= 0.5 * line.half_delay) {
        if (at_once && to_seconds(high_at - *stands_since) > kStands + 4.0 * line.base_rtt) empty_since = now;
        stands_since.reset();
    } else if (!below || (line.queue < 0.5 * high && !at_once)) {
        stands_since.reset();
    }
}

// A queue that stands through our own drains is not ours; one that goes meanwhile tells nothing.
void UdtxPauses::Watch::on_drained(Instant now, double queue, double high) {
    empty_since.reset();
    if (stands_since && queue > high) {
        high_at = now;
    } else if (queue < 0.5 * high) {
        stands_since.reset();
    }
}

void UdtxPauses::look_for_end(Instant now, const Line& line, Watch& watch, double back) {
    if (!watch.empty_since || line.queue <= back) return;
    const bool told = last_ && *last_ >= *watch.empty_since;  // by the other watch
    if (!told && to_seconds(now - *watch.empty_since) < kPause + 4.0 * line.base_rtt) {
        before_last_ = last_;
        last_ = now;
    }
    watch.empty_since.reset();
}

bool UdtxPauses::regular(Instant now) const { return before_last_ && now - *before_last_ <= kMemory; }

}  // namespace udtx::congestion
