#include "sim/reorder_meter.hpp"

#include <algorithm>

namespace udtx::sim {

void ReorderMeter::update(Instant now, std::uint64_t received, std::uint64_t in_order) {
    held_seconds_ += static_cast<double>(held()) * to_seconds(now - last_);
    last_ = now;
    const std::uint64_t came = received - received_;
    const std::uint64_t went = in_order - in_order_;
    received_ = received;
    in_order_ = in_order;
    most_held_ = std::max(most_held_, held());
    // The bytes that just arrived either wait, or fill a gap and are handed over together with the bytes that waited
    // for them.
    if (came > went) waiting_.push_back({now, came - went});
    if (went > came) hand_over(now, went - came);
}

void ReorderMeter::hand_over(Instant now, std::uint64_t bytes) {
    while (bytes > 0 && !waiting_.empty()) {
        Waiting& oldest = waiting_.front();
        longest_wait_ = std::max(longest_wait_, Duration(now - oldest.since));
        const std::uint64_t taken = std::min(bytes, oldest.bytes);
        bytes -= taken;
        oldest.bytes -= taken;
        if (oldest.bytes == 0) waiting_.pop_front();
    }
}

double ReorderMeter::mean_held() const noexcept {
    const double time = to_seconds(last_ - start_);
    return time > 0.0 ? held_seconds_ / time : 0.0;
}

double ReorderMeter::mean_wait_s() const noexcept {
    return in_order_ > 0 ? held_seconds_ / static_cast<double>(in_order_) : 0.0;
}

}  // namespace udtx::sim
