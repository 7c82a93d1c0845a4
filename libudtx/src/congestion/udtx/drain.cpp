// How udtx drains: all `udtx` flows drain at the same time, so that the queue empties and all see the base again.
//
// All flows see the same queue, so all know which packet met the shortest one. Two seconds after that packet left, each
// flow sends less. At the queue this is the same moment for all flows, at any round-trip time. A drain makes the next
// shortest queue.
#include <algorithm>
#include <bit>

#include "congestion/udtx/udtx.hpp"

namespace udtx::congestion {

namespace {
constexpr double kLow = 0.25;             // of q_h: up to here nobody else keeps up the queue
constexpr double kSame = 0.1;             // q_h between two delays, less than the noise: the first counts
constexpr double kMargin = 2e-3;          // s of queue, added to the measured one
constexpr double kMostTime = 20e-3;       // s of drain, at most, unless half a round trip is longer
constexpr double kMostAmongRivals = 1.0;  // s
constexpr double kInterval = 2.0;         // s from the shortest queue to the next drain
constexpr double kNext = 0.75;            // of the interval: later dips belong to the next drain
constexpr double kAloneInterval = 5.0;    // s, if no other flow needs to see the base: half of its life
constexpr double kIntervalRtts = 4.0;     // the interval doubles until it is at least so many round trips
constexpr int kDrains = 4;                // drains to judge, at least
constexpr unsigned kJudged = 0xF;         // mask of the last four
constexpr int kInVain = 3;                // of them failed, including the last: others keep up the queue
constexpr double kEmptied = 0.5;          // of the queue before: at less, the drain succeeded
}  // namespace

void Udtx::consider_drain(const CongestionFeedback& feedback) {
    const Instant now = feedback.now;
    for (const ArrivalSample& sample : feedback.arrivals) note_shortest(sample);
    if (delay_.queue() <= (kLow + rest() - kRest) * half_delay()) last_low_ = now;
    // Until the drain takes effect, an RTT later, the queue is what it was without it.
    if (to_seconds(now - last_drain_) < delay_.base_rtt()) drain_queue_ = std::max(drain_queue_, delay_.queue());
    drain_least_ = std::min(drain_least_, delay_.queue());
    if (drain_until_) {
        if (now >= *drain_until_) end_drain(now);
        return;
    }
    if (judge_drain_at_ && now >= *judge_drain_at_) {
        judge_drain_at_.reset();
        const bool in_vain = last_low_ < last_drain_ && drain_least_ > kEmptied * drain_queue_;
        in_vain_ = (in_vain_ << 1U | (in_vain ? 1U : 0U)) & kJudged;
        ++judged_;
    }
    if (compete_.active()) {
        if (compete_.take_drain(now)) begin_drain(now, std::min(time_to_empty(delay_.queue()), kMostAmongRivals));
        return;
    }
    if (!has(UdtxPart::drain) || !shortest_ || to_seconds(now - shortest_->sent) < drain_interval()) return;
    shortest_ = dips_ ? shortest_next_ : std::nullopt;
    shortest_next_.reset();
    // The queue oscillates, so the queue that `udtx` flows would keep counts if it is longer.
    begin_drain(now, drain_length(std::max(delay_.queue(), equilibrium_delay())));
    drain_queue_ = drain_least_ = delay_.queue();
    judge_drain_at_ = *drain_until_ + from_seconds(delay_.base_rtt() + delay_.queue());
}

// Others may drain slightly before this flow. The dip that they make is the next shortest queue.
void Udtx::note_shortest(const ArrivalSample& sample) {
    const Duration same = from_seconds(kSame * half_delay());
    const auto shorter_than = [&](const ArrivalSample& other) { return sample.delay + same < other.delay; };
    if (!shortest_ || shorter_than(*shortest_)) {
        shortest_ = sample;
        shortest_next_.reset();
    } else if (to_seconds(sample.sent - shortest_->sent) >= kNext * drain_interval()) {
        const bool dips = shortest_next_ && shorter_than(*shortest_next_);
        if (!shortest_next_) dips_ = false;
        if (!shortest_next_ || dips) shortest_next_ = sample;
        dips_ = dips_ || dips;
    }
}

double Udtx::drain_interval() const {
    if (alone()) return kAloneInterval;
    double interval = kInterval;
    while (interval < kIntervalRtts * delay_.base_rtt()) interval *= 2.0;
    return interval;
}

bool Udtx::drains_in_vain() const {
    return judged_ >= kDrains && (in_vain_ & 1U) != 0 && std::popcount(in_vain_) >= kInVain;
}

double Udtx::time_to_empty(double queue) { return (queue + kMargin) / (1.0 - kDrainPace); }

// Time for the queue to empty if all flows drain. It is bounded by the queue that `udtx` flows would make.
double Udtx::drain_length(double queue) const {
    const double most = std::max({delay_.base_rtt() / 2.0, kMostTime, time_to_empty(equilibrium_delay())});
    return std::min(time_to_empty(queue), most);
}

void Udtx::begin_drain(Instant now, double length) {
    drain_until_ = now + from_seconds(length);
    last_drain_ = now;
}

void Udtx::end_drain(Instant now) {
    drain_until_.reset();
    const double refill = has(UdtxPart::refill) ? equilibrium_delay() / (kRefillPace - 1.0) : 0.0;
    frozen_until_ = now + from_seconds(delay_.base_rtt() + refill);
}

// Forgets the results of drains, as the queue that they judged no longer exists.
void Udtx::forget_drains() {
    drain_until_.reset();
    judge_drain_at_.reset();
    in_vain_ = 0;
    judged_ = 0;
}

}  // namespace udtx::congestion
