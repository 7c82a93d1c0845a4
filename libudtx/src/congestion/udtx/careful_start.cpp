#include "congestion/udtx/careful_start.hpp"

#include <algorithm>

#include "congestion/udtx/constants.hpp"

namespace udtx::congestion {

void UdtxCarefulStart::recall(const KnownPath& path, Duration rtt) {
    if (phase_ != Phase::none || path.capacity.is_zero() || path.base_rtt <= Duration::zero()) return;
    known_ = path;
    phase_.enter(Phase::reconnaissance);
    if (rtt > Duration::zero()) confirm(rtt);
}

// An RTT far from the known one is that of another path, or of a path in another state. The window is the smaller one
// of two round-trip times, so a longer path gets no more than it had.
void UdtxCarefulStart::confirm(Duration rtt) {
    const double now = to_seconds(rtt);
    const double before = to_seconds(known_.base_rtt);
    if (now < kUdtx.least_known_rtts * before || now > kUdtx.most_known_rtts * before) {
        phase_.enter(Phase::none);
        return;
    }
    window_ = std::min(kUdtx.known_part * known_.capacity.bytes_per_second(), kUdtx.most_mtr) * std::min(now, before);
    rate_ = window_ / now;
    phase_.enter(Phase::unvalidated);
}

void UdtxCarefulStart::on_sent(const CongestionSent& packet, double slow_start) {
    const double in_flight = static_cast<double>(packet.in_flight_before + packet.bytes);
    if (phase_ != Phase::unvalidated || in_flight <= slow_start) return;
    if (!first_ && packet.now - known_.measured > KnownPath::kLife) {
        phase_.enter(Phase::none);
        return;
    }
    if (!first_) first_ = packet.number;
    last_ = packet.number;
    flight_ = in_flight;
}

void UdtxCarefulStart::on_feedback(const CongestionFeedback& feedback, double queue, double most) {
    if (phase_ == Phase::reconnaissance && feedback.rtt_sample) confirm(*feedback.rtt_sample);
    if (refuted()) arrived_ += static_cast<double>(feedback.acked_bytes);
    const bool behind = feedback.acked_packets > 0 && feedback.largest_acked > last_;
    if (phase_ == Phase::retreat && (behind || feedback.persistent_timeout)) phase_.enter(Phase::refuted);
    if (!jumps() || !first_) return;
    if (feedback.acked_packets > 0 && feedback.largest_acked >= *first_) {
        arrived_ += static_cast<double>(feedback.acked_bytes);
        packets_ += feedback.acked_packets;
        if (phase_ == Phase::unvalidated) {
            phase_.enter(Phase::validating);
            window_ = std::min(window_, flight_);
        }
    }
    lost_ += static_cast<double>(std::ranges::count_if(
        feedback.lost, [&](const CongestionLost& lost) { return lost.number >= *first_ && lost.number <= last_; }));
    // As everywhere in udtx, few losses without a queue are random.
    const bool losses = lost_ >= kUdtx.few_lost && lost_ > kUdtx.heavy_loss * (packets_ + lost_);
    if (feedback.persistent_timeout || losses || queue > most + to_seconds(known_.jitter)) {
        phase_.enter(Phase::retreat);
        arrived_then_ = arrived_;
    } else if (phase_ == Phase::validating && feedback.largest_acked >= last_ && feedback.acked_packets > 0) {
        phase_.enter(Phase::validated);
    }
}

}  // namespace udtx::congestion
