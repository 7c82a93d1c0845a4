// How udtx drains: all `udtx` flows drain at the same time, so that the queue empties and all see the base again.
//
// All flows see the same queue, so all know which packet met the shortest one. Two seconds after that packet left, each
// flow sends less. At the queue this is the same moment for all flows, at any round-trip time. A drain makes the next
// shortest queue.
#include <algorithm>
#include <bit>
#include <limits>

#include "congestion/udtx/udtx.hpp"

namespace udtx::congestion {

namespace {
constexpr double kLow = 0.25;              // of q_h: up to here nobody else keeps up the queue
constexpr double kSame = 0.1;              // q_h between two delays, less than the noise: the first counts
constexpr double kMargin = 2e-3;           // s of queue, added to the measured one
constexpr double kMostTime = 20e-3;        // s of drain, at most, unless half a round trip is longer
constexpr double kMostBesideOthers = 1.0;  // s
constexpr double kInterval = 2.0;          // s from the shortest queue to the next drain
constexpr double kNext = 0.75;             // of the interval: later dips belong to the next drain
constexpr double kAloneInterval = 5.0;     // s, if no other flow needs to see the base: half of its life
constexpr double kIntervalRtts = 4.0;      // the interval doubles until it is at least so many round trips
constexpr int kDrains = 4;                 // drains to judge, at least
constexpr unsigned kJudged = 0xF;          // mask of the last four
constexpr int kInVain = 3;                 // of them failed, including the last: others keep up the queue
constexpr double kEmptied = 0.5;           // of the queue before: at less, the drain succeeded
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
        if (compete_.take_drain(now)) begin_drain(now, std::min(time_to_empty(delay_.queue()), kMostBesideOthers));
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

// When udtx competes: decides whether `udtx` flows made a queue, or flows that fill it until it overflows.

namespace {
constexpr double kManyFlowsQueue = 5.0;    // q_h: the queue of thirty `udtx` flows
constexpr double kForeignQueue = 1.5;      // q_h, if competing flows are known to keep the queue
constexpr double kLosing = 0.7;            // of the highest x in 10 s: below it, others take the rate
constexpr double kErratic = 4.0;           // q_h within a second: others have just started or ended
constexpr double kErraticPatience = 5.0;   // s
constexpr double kAlone = 0.9;             // of C: a flow with so much has no serious competitor
constexpr double kJump = 0.5;              // of the patience
constexpr double kTellingPackets = 200.0;  // packets after which MTR follows a slower link
constexpr double kTellingTime = 1.5;       // s, at most: a flow starved by competing flows sends few packets
constexpr double kCompetingQueue = 4.0;    // base RTTs: a longer queue may have another cause than competing flows
constexpr double kHopeless = 2.0;          // s of queue: its share would wait as long in it
constexpr double kRobbed = 0.75;           // of x when competing ended: below it, competing flows are still active
constexpr Duration kResumeTime = std::chrono::seconds(20);  // after competing: do others take the rate that it left?
}  // namespace

void Udtx::consider_competing(const CongestionFeedback& feedback) {
    const Instant now = feedback.now;
    const double rtt = delay_.base_rtt() + delay_.queue();
    if (compete_.active() && !end_competing(feedback, rtt)) return;
    rates_.add(now, rate_);
    if (in_vain_ == 0) before_ = rates_.value(now).value_or(rate_);
    // The queue emptied, but others took what this flow left to them. They are still not `udtx` flows.
    if (left_ && now - *left_ < kResumeTime && delay_.queue() > half_delay() && rate_ < kRobbed * left_rate_) {
        stop_waiting();
        compete_.resume(now, left_rate_ * rtt, 1.4 * left_rate_ * rtt);
        return;
    }
    // In a shallow buffer so many q_h are the whole buffer, which many `udtx` flows fill, too.
    const bool others = foreign(now);
    if ((shallow() && !others) || delay_.queue() < (others ? kForeignQueue : kManyFlowsQueue) * half_delay()) {
        overrun_since_.reset();
        return;
    }
    if (!overrun_since_) {
        overrun_since_ = now;
        overrun_least_ = std::numeric_limits<double>::max();
        overrun_most_ = 0.0;
    }
    const double passed = to_seconds(now - *overrun_since_);
    const double patience = std::max(1.0, 12.0 * delay_.base_rtt());
    // Around its plateau CUBIC, too, keeps a queue still for seconds, but not from the start. So the time right after
    // the queue's jump does not count.
    if (passed >= kJump * patience) {
        overrun_least_ = std::min(overrun_least_, delay_.queue());
        overrun_most_ = std::max(overrun_most_, delay_.queue());
    }
    if (passed < patience) return;
    const bool still = overrun_most_ - overrun_least_ < 0.5 * half_delay();
    if (still && has(UdtxPart::longer_path) && delay_.queue() > delay_.full().value_or(0.0)) {
        if (passed < 2.0 * patience) return;
        overrun_since_.reset();
        delay_.forget_base();  // such a still queue is a longer path
        forget_drains();
        return;
    }
    // New `udtx` flows that start one after another make as long a queue, but it varies.
    if (delay_.range() > kErratic * half_delay() && passed < std::max(kErraticPatience, 2.0 * patience)) return;
    // A reaction to a queue shows only after packets sent later have passed the queue. A slower link shows only after
    // pairs have measured it. A flow that fills a queue without limit ignores losses, so competing with it only adds to
    // the queue.
    const double packets = kTellingPackets * datagram_bytes_ / std::max(mtr_.delivered(), 1.0);
    const bool competing = delay_.queue() <= kCompetingQueue * delay_.base_rtt();
    const double pairs = competing ? std::min(packets, kTellingTime) : packets;
    const bool worthwhile = delay_.queue() < kHopeless && !alone();
    if (passed >= std::max(patience, pairs) + delay_.queue() && worthwhile && has(UdtxPart::compete))
        begin_competing(now, rtt);
}

// A window for seconds of queue would flood the link once others and their queue have gone.
double Udtx::competing_window() const {
    const double time = delay_.base_rtt() + delay_.queue() + to_seconds(kSynInterval);
    return std::min(compete_.window(), kMaxShare * mtr_.seen() * time);
}

// Deliveries fill the link, so the queue is this flow's own, even if others began it.
bool Udtx::alone() const { return mtr_.usual() > kAlone * mtr_.seen(); }

// Drains of `udtx` flows would have emptied the queue and left this flow its share.
bool Udtx::foreign(Instant now) const { return drains_in_vain() && losing(now); }

// A flow that has just started lost nothing to others: x rises and falls quickly in the start.
bool Udtx::losing(Instant now) const {
    return now - started_ > kRatesLife && rate_ < kLosing * rates_.value(now).value_or(rate_);
}

void Udtx::begin_competing(Instant now, double rtt) {
    // A share of 1/n before gives 1/(n + 1) beside one more flow. A new flow had no share before: beside one it gets
    // 1/2.
    const bool newcomer = to_seconds(*overrun_since_ - started_) < 1.0 + 5.0 * delay_.base_rtt();
    const double fair = mtr_.mtr() * before_ / (mtr_.mtr() + before_);
    const double share = newcomer ? 0.5 * mtr_.mtr() : fair;
    stop_waiting();
    if (left_ && now - *left_ < kResumeTime) {
        const double again = std::max(fair, compete_.share());
        compete_.resume(now, std::max(rate_, 0.9 * again) * rtt, 1.2 * again * rtt);
    } else {
        compete_.enter(now, {.window = std::max(rate_, 0.9 * fair) * rtt, .goal = 1.2 * fair * rtt, .share = share});
    }
}

bool Udtx::end_competing(const CongestionFeedback& feedback, double rtt) {
    const Instant now = feedback.now;
    compete_.on_feedback(feedback, {.congestion_losses = congestion_losses_,
                                    .random_loss = loss_.random(),
                                    .queue = delay_.queue(),
                                    .rtt = rtt,
                                    .segment = static_cast<double>(datagram_bytes_),
                                    .may_fix = has(UdtxPart::fixed_share) && !shallow()});
    rate_ = std::min(compete_.window() / rtt, kMaxShare * mtr_.seen());
    const bool drained = drain_until_ || now < frozen_until_;
    const bool over = compete_.over(now, delay_.queue() <= 0.5 * half_delay(), drained, delay_.base_rtt());
    if (!over && !alone()) return false;
    compete_.leave();
    forget_drains();
    last_low_ = now;
    left_ = over && has(UdtxPart::resume) ? std::optional(now) : std::nullopt;
    left_rate_ = rate_;
    rates_.clear();
    return true;
}

void Udtx::stop_waiting() {
    overrun_since_.reset();
    forget_drains();
    trial_.abandon();  // trials stop while competing; a running one would lower the rate all that time
}

}  // namespace udtx::congestion
