// How udtx starts: blind until a train tells of the line, then a ramp up to it.
#include <algorithm>
#include <cmath>

#include "congestion/udtx/udtx.hpp"

namespace udtx::congestion {

namespace {
constexpr double kGroping = 64.0;      // packets of blind window by which a train or pairs should have told of the line
constexpr double kFloodedLoss = 0.25;  // lost for each that came
constexpr double kStart = 0.5;         // of C: the first round trip after the first train
constexpr double kCrowdedShare = 0.2;  // of C: what a newcomer keeps of a busy line
constexpr double kSole = 0.6;          // of C, delivered: more than a newcomer gets of a busy line, as a rule half
constexpr double kGone = 0.25;         // of q_h: that queue has gone
constexpr double kHold = 2.0;          // RTTs for which it does not yield to the queue that it made itself
constexpr double kCrowdRtts = 0.125;   // RTTs after which a queue is others': the pacer's bursts are shorter
}  // namespace

// Slow start until a train or pairs tell of the line. On lines so fast that stamps cannot tell them apart, what was
// delivered until the line was full is the best that is known.
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
    // What a late thread missed leaves in one burst (congestion/pacer.hpp): a queue, too, but one that passes.
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
    // Heavy loss holds x below C (bound_rate): the ramp would never end, and nothing look for the cause. What a
    // time-out lost is none.
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

// A train that told of too fast a line makes a queue without others, too: but then most of C arrives, and at C/5 the
// queue goes at once. Its losses were the start's own.
void Udtx::reconsider_crowd(const CongestionFeedback& feedback) {
    if (feedback.delivery) carried_ = std::max(carried_, feedback.delivery->rate.bytes_per_second());
    if (carried_ <= kSole * mtr_.mtr() || delay_.queue() > kGone * half_delay()) return;
    rate_ = std::max(rate_, carried_);
    loss_.restart();
    crowded_since_.reset();
}

}  // namespace udtx::congestion
