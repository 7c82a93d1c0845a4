#include "congestion/coupled_share.hpp"

#include <algorithm>
#include <limits>

namespace udtx::congestion {

void CoupledShare::on_sent(const CongestionSent& packet) {
    if (sharers_ == 1) return inner_->on_sent(packet);
    CongestionSent whole = packet;
    whole.in_flight_before *= sharers_;
    inner_->on_sent(whole);
}

void CoupledShare::measure(const CongestionFeedback& feedback) {
    auto& self = group_->member(id_);
    if (feedback.line && !feedback.line->capacity.is_zero()) {
        self.capacity = feedback.line->capacity.bytes_per_second();
    }
    if (feedback.arrivals.empty()) {
        if (feedback.one_way_delay) self.trace.add(feedback.now, to_seconds(*feedback.one_way_delay));
        return;
    }
    for (const ArrivalSample& sample : feedback.arrivals) self.trace.add(feedback.now, to_seconds(sample.delay));
}

// Bytes and rates are scaled to all sharers. Packet counts stay as they are, so that the loss ratio stays the same.
void CoupledShare::on_feedback(const CongestionFeedback& feedback) {
    measure(feedback);
    sharers_ = group_->sharers(id_, feedback.now);
    if (sharers_ == 1) {
        inner_->on_feedback(feedback);
        return;
    }
    const auto times = static_cast<double>(sharers_);
    whole_ = feedback;
    whole_.acked_bytes *= sharers_;
    whole_.in_flight_before *= sharers_;
    whole_.in_flight_after *= sharers_;
    // The peer may grant any number of bytes, so the product is limited.
    whole_.free_window = std::min(whole_.free_window, std::numeric_limits<std::uint64_t>::max() / sharers_) * sharers_;
    if (whole_.delivery) whole_.delivery->rate = whole_.delivery->rate * times;
    if (whole_.line) whole_.line->arrival_pps *= times;
    inner_->on_feedback(whole_);
}

void CoupledShare::on_limits(const PathLimits& limits) {
    datagram_bytes_ = limits.datagram_bytes;
    Around::on_limits(limits);
}

// The window leaves each path enough packets to continue measuring.
std::uint64_t CoupledShare::window() const {
    const std::uint64_t least = std::min<std::uint64_t>(inner_->window(), 2ULL * datagram_bytes_);
    return std::max(inner_->window() / sharers_, least);
}

}  // namespace udtx::congestion
