#include "multipath/status_monitor.hpp"

#include <algorithm>

namespace udtx::multipath {

// Th = clamp(3 rho, 3, 10), where rho is the ratio of the base RTTs. The steady value is about rho, because bytes of a
// slow path hold up those of a fast one for about a round trip of the slow path.
void StatusMonitor::set_threshold(std::span<const PathView> paths) {
    Duration least = Duration::max();
    Duration most{};
    for (const PathView& path : paths) {
        if (!path.usable || path.min_rtt <= Duration::zero()) continue;
        least = std::min(least, path.min_rtt);
        most = std::max(most, path.min_rtt);
    }
    const double ratio = most > Duration::zero() ? to_seconds(most) / to_seconds(least) : 1.0;
    threshold_ = std::clamp(kThreshold * ratio, kThreshold, kMaxThreshold);
}

void StatusMonitor::update(Instant now, std::uint64_t send_buffer, const TransmissionRecord& record,
                           std::span<const PathView> paths) {
    set_threshold(paths);
    double highest = 0.0;
    for (const PathView& path : paths) {
        PathState& state = states_[path.id];
        const double in_flight = static_cast<double>(path.in_flight) / path.datagram_bytes;
        state.windows.add(now, in_flight);
        const double window = std::max(1.0, state.windows.value(now).value_or(1.0));
        state.transmit_times = static_cast<double>(record.outstanding(path.id)) / window;
        highest = std::max(highest, state.transmit_times);
    }
    const auto buffered = static_cast<double>(send_buffer);
    const double elapsed = updated_ ? to_seconds(now - *updated_) : 0.0;
    if (!updated_) mean_ = buffered;
    mean_ += (buffered - mean_) * elapsed / (elapsed + kMeanTime);
    updated_ = now;

    if (highest < threshold_ / 2.0) {
        culprit_.reset();
    } else if (culprit_ || (highest > threshold_ && buffered > mean_)) {
        if (const auto head = record.head()) culprit_ = head->ref.path;
    }
}

double StatusMonitor::transmit_times(PathId path) const {
    const PathState* state = states_.find(path);
    return state == nullptr ? 0.0 : state->transmit_times;
}

}  // namespace udtx::multipath
