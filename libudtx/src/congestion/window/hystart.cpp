#include "congestion/window/hystart.hpp"

#include <algorithm>

namespace udtx::congestion {

HyStart::Verdict HyStart::on_ack(const CongestionFeedback& feedback) {
    if (!window_end_) window_end_ = feedback.largest_sent;
    if (feedback.rtt_sample) {
        this_round_ = this_round_ ? std::min(*this_round_, *feedback.rtt_sample) : *feedback.rtt_sample;
        // The RFC counts ACKs of one or two packets each. Here an ACK covers up to one SYN of packets and is less
        // noisy.
        samples_ += feedback.acked_packets;
    }
    if (samples_ >= kSamples) judge();
    if (feedback.acked_packets > 0 && feedback.largest_acked >= *window_end_) end_round(feedback);
    if (!baseline_) return Verdict::slow_start;
    return rounds_ >= kConservativeRounds ? Verdict::done : Verdict::conservative;
}

// RFC 9406, section 4.2: enters conservative slow start when the RTT grows, and leaves it if the RTT falls again.
void HyStart::judge() {
    if (baseline_) {
        if (*this_round_ >= *baseline_) return;
        baseline_.reset();
        rounds_ = 0;
        return;
    }
    if (!last_round_) return;
    const Duration threshold = std::clamp(*last_round_ / kThresholdDivisor, kMinThreshold, kMaxThreshold);
    if (*this_round_ >= *last_round_ + threshold) baseline_ = this_round_;
}

void HyStart::end_round(const CongestionFeedback& feedback) {
    window_end_ = feedback.largest_sent;
    if (this_round_) last_round_ = this_round_;
    this_round_.reset();
    samples_ = 0;
    if (baseline_) ++rounds_;
}

}  // namespace udtx::congestion
