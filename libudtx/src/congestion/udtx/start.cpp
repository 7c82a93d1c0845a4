// How udtx starts: blind until a train measures the link, then a ramp up to the link rate.
#include <algorithm>
#include <cmath>

#include "congestion/udtx/udtx.hpp"

namespace udtx::congestion {

namespace {
constexpr double kGroping = 64.0;      // packets of blind window: by then a probe should have measured the link
constexpr double kFloodedLoss = 0.25;  // lost packets for each acknowledged one
constexpr double kStart = 0.5;         // of C: the rate in the first round trip after the first train
constexpr double kCrowdedShare = 0.2;  // of C: what a new flow keeps of a busy link
constexpr double kSole = 0.6;          // of C, delivered: more than a new flow gets of a busy link, usually half
constexpr double kGone = 0.25;         // of q_h: below, the flow's own queue has emptied
constexpr double kHold = 2.0;          // RTTs in which a new flow ignores the queue that it made itself
constexpr double kCrowdRtts = 0.125;   // RTTs after which a queue is that of others: the pacer's bursts are shorter
}  // namespace

// Slow start until a train or pairs measure the link. If the link is too fast for timestamps, the best estimate is the
// delivery rate until the link was full.
void Udtx::grope(const CongestionFeedback& feedback) {
    blind_window_ += static_cast<double>(feedback.acked_bytes);
    const bool flooded = static_cast<double>(feedback.lost.size()) > kFloodedLoss * feedback.acked_packets;
    if (!mtr_.known() && blind_window_ > kGroping * datagram_bytes_ && (flooded || delay_.queue() > half_delay()))
        mtr_.assume_delivered();
    if (mtr_.known() && delay_.base_rtt() > 0.0) start_ramp(feedback.now);
}

void Udtx::start_ramp(Instant now) {
    phase_ = Phase::ramp;
    rate_ = mtr_.mtr() * (has(UdtxPart::half_start) ? kStart : kStart / 4.0);
    rates_.add(now, rate_);
    at_line_since_.reset();
    crowded_since_.reset();
    carried_ = 0.0;
    last_low_ = now;
    last_drain_ = now;
    started_ = now;
}

void Udtx::ramp(const CongestionFeedback& feedback, double dt) {
    const double rtt = delay_.base_rtt();
    // The credit that a late thread missed leaves in one burst (congestion/pacer.hpp). It makes a queue, too, but a
    // short one.
    if (delay_.queue() <= half_delay())
        crowded_since_.reset();
    else if (!crowded_since_)
        crowded_since_ = feedback.now;
    const bool crowded = crowded_since_ && to_seconds(feedback.now - *crowded_since_) >= kCrowdRtts * rtt;
    if (crowded || loss_.congestion() > 0.005) {
        if (crowded) rate_ = std::min(rate_, kCrowdedShare * mtr_.mtr());
        if (has(UdtxPart::hold)) hold_until_ = feedback.now + from_seconds(kHold * (rtt + delay_.queue()));
        phase_ = Phase::steady;
        last_low_ = feedback.now;
        return;
    }
    // bound_rate() holds x below C at heavy loss. The ramp would then never end, and no trial would look for the cause.
    // After a timeout this does not apply, as the timeout itself counts packets as lost.
    if (first_ramp_ && loss_.total() > kHeavyLoss) {
        phase_ = Phase::steady;
        last_low_ = feedback.now;
        return;
    }
    if (crowded_since_) return;
    rate_ = std::min(rate_ * std::exp2(2.0 * dt / rtt), capacity());
    if (rate_ < capacity()) {
        at_line_since_.reset();
        return;
    }
    if (!at_line_since_) at_line_since_ = feedback.now;
    const bool long_enough = to_seconds(feedback.now - *at_line_since_) > 3.0 * rtt;
    if (long_enough || mtr_.delivered() > 0.85 * mtr_.mtr()) {
        phase_ = Phase::steady;
        last_low_ = feedback.now;
    }
}

// If the first train overestimated the link, a queue appears without other flows. But then most of C arrives, and at
// C/5 the queue empties at once. The losses were those of the start.
void Udtx::reconsider_crowd(const CongestionFeedback& feedback) {
    if (feedback.delivery) carried_ = std::max(carried_, feedback.delivery->rate.bytes_per_second());
    if (carried_ <= kSole * mtr_.mtr() || delay_.queue() > kGone * half_delay()) return;
    rate_ = std::max(rate_, carried_);
    loss_.restart();
    crowded_since_.reset();
}

}  // namespace udtx::congestion
