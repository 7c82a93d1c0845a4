#include "recovery/ack_tracker.hpp"

#include <algorithm>

namespace udtx::recovery {

bool AckTracker::on_received(Instant now, PacketNumber number, bool ack_eliciting) {
    if (number < floor_) return false;
    const std::optional<PacketNumber> before = largest();
    if (received_.insert(number, number + 1) == 0) return false;
    if (received_.count() > wire::kMaxAckRanges) {
        const Range oldest = received_.front();
        received_.erase(oldest.begin, oldest.end);
        floor_ = oldest.end;
        if (number < floor_) return false;  // this packet was the oldest range
    }
    if (!before || number > *before) largest_time_ = now;
    pending_any_ = true;
    // Packets without ack-eliciting frames must not cause an ACK. Otherwise ACKs would be acknowledged forever (RFC
    // 9000, section 13.2.1).
    if (!ack_eliciting) return true;
    if (pending_eliciting_++ == 0) oldest_pending_ = now;
    if (before && number != *before + 1) immediate_ = true;
    if (!before || number > *before) {
        arrivals_.on_newest(now, number, before && number != *before + 1, pace_.limited());
    }
    return true;
}

bool AckTracker::wanted(Instant now) const noexcept {
    if (pending_eliciting_ == 0) return false;
    return immediate_ || pending_eliciting_ >= kPacketsPerAck || now - oldest_pending_ >= interval_;
}

bool AckTracker::due(Instant now) const noexcept { return wanted(now) && pace_.allows(now); }

std::optional<Instant> AckTracker::deadline() const noexcept {
    if (pending_eliciting_ == 0) return std::nullopt;
    const Instant by_time = oldest_pending_ + interval_;
    const Instant allowed = pace_.next();
    if (allowed <= oldest_pending_) return by_time;
    return wanted(allowed) ? allowed : std::max(by_time, allowed);
}

bool AckTracker::build(Instant now, std::size_t max_ranges, wire::AckFrame& frame) {
    if (received_.empty() || max_ranges == 0) return false;
    frame.path = path_;
    const auto held = std::chrono::duration_cast<std::chrono::microseconds>(now - largest_time_).count();
    frame.delay_us = static_cast<std::uint64_t>(std::max<std::int64_t>(held, 0));
    const auto intervals = received_.intervals();
    frame.count = std::min({intervals.size(), max_ranges, wire::kMaxAckRanges});
    for (std::size_t i = 0; i < frame.count; ++i) {
        const Range& range = intervals[intervals.size() - 1 - i];
        frame.ranges[i] = wire::AckRange{.first = range.begin, .last = range.end - 1};
    }
    frame.arrival_count = 0;
    pending_eliciting_ = 0;
    pending_any_ = false;
    immediate_ = false;
    return true;
}

void AckTracker::put_back() noexcept {
    pending_any_ = true;
    pending_eliciting_ = std::max(pending_eliciting_, 1U);
    immediate_ = true;
}

// The floor stays. A packet that is late by a whole round trip is still accepted and becomes a range of its own.
void AckTracker::on_ack_acknowledged(PacketNumber ack_largest) {
    while (received_.count() > 1 && received_.front().end <= ack_largest) {
        const Range oldest = received_.front();
        received_.erase(oldest.begin, oldest.end);
    }
}

}  // namespace udtx::recovery
