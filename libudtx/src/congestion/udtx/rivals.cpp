// When udtx competes: whether a queue is its own kind's or that of flows which fill it until it overflows.
#include <algorithm>
#include <limits>

#include "congestion/udtx/udtx.hpp"

namespace udtx::congestion {

namespace {
constexpr double kCrowdQueue = 5.0;                      // q_h: what thirty of our own kind make
constexpr double kForeignQueue = 1.5;                    // q_h, where the queue is known for that of others
constexpr double kLosing = 0.7;                          // of the highest x in 10 s: others take it
constexpr double kErratic = 4.0;                         // q_h within a second: others have just come or gone
constexpr double kErraticPatience = 5.0;                 // s
constexpr double kAlone = 0.9;                           // of C: who gets as much has no rival to speak of
constexpr double kJump = 0.5;                            // of the patience
constexpr double kTellingPackets = 200.0;                // by which MTR follows a line that has become slower
constexpr double kTellingTime = 1.5;                     // s, at most: who is starved by rivals sends few
constexpr double kRivalQueue = 4.0;                      // base RTTs: what fills a longer one need not be one
constexpr double kHopeless = 2.0;                        // s of queue: its share would stand in it for as long
constexpr double kRobbed = 0.75;                         // of x when competing ended: not of our kind, yet
constexpr Duration kRemorse = std::chrono::seconds(20);  // after competing: is what was left to others taken?
}  // namespace

void Udtx::consider_competing(const CongestionFeedback& feedback) {
    const Instant now = feedback.now;
    const double rtt = delay_.base_rtt() + delay_.queue();
    if (compete_.active() && !end_competing(feedback, rtt)) return;
    rates_.add(now, rate_);
    if (in_vain_ == 0) before_ = rates_.value(now).value_or(rate_);
    // The queue had emptied, but what we left to others they took: they are still not of our kind.
    if (left_ && now - *left_ < kRemorse && delay_.queue() > half_delay() && rate_ < kRobbed * left_rate_) {
        stop_waiting();
        compete_.resume(now, left_rate_ * rtt, 1.4 * left_rate_ * rtt);
        return;
    }
    // So many q_h of a shallow buffer are all of it: many of our kind fill that, too.
    const bool others = foreign(now);
    if ((shallow() && !others) || delay_.queue() < (others ? kForeignQueue : kCrowdQueue) * half_delay()) {
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
    // Around its plateau CUBIC keeps a queue still for seconds, too, but not from the beginning. What was there when it
    // jumped does not count.
    if (passed >= kJump * patience) {
        overrun_least_ = std::min(overrun_least_, delay_.queue());
        overrun_most_ = std::max(overrun_most_, delay_.queue());
    }
    if (passed < patience) return;
    const bool still = overrun_most_ - overrun_least_ < 0.5 * half_delay();
    if (still && has(UdtxPart::longer_way) && delay_.queue() > delay_.full().value_or(0.0)) {
        if (passed < 2.0 * patience) return;
        overrun_since_.reset();
        delay_.forget_base();  // no queue stands so still: the way has become longer
        forget_drains();
        return;
    }
    // Newcomers of our own kind that start one after another make as long a queue, but one that comes and goes.
    if (delay_.range() > kErratic * half_delay() && passed < std::max(kErraticPatience, 2.0 * patience)) return;
    // What is done about a queue shows only when what was sent after it has passed the queue; that the line has become
    // slower, only when pairs have. What fills the queue without end minds nothing, and competing with it only adds to
    // the queue.
    const double packets = kTellingPackets * datagram_bytes_ / std::max(mtr_.delivered(), 1.0);
    const bool rival = delay_.queue() <= kRivalQueue * delay_.base_rtt();
    const double pairs = rival ? std::min(packets, kTellingTime) : packets;
    const bool worthwhile = delay_.queue() < kHopeless && !alone();
    if (passed >= std::max(patience, pairs) + delay_.queue() && worthwhile && has(UdtxPart::compete))
        begin_competing(now, rtt);
}

// A window that fitted seconds of queue would flood the line when others have gone, and their queue with them.
double Udtx::competing_window() const {
    const double time = delay_.base_rtt() + delay_.queue() + to_seconds(kSynInterval);
    return std::min(compete_.window(), kMaxShare * mtr_.seen() * time);
}

// What arrives fills the line, so that the queue is our own, whoever began it.
bool Udtx::alone() const { return mtr_.usual() > kAlone * mtr_.seen(); }

// Drains of our own kind would have emptied the queue, and left us our share.
bool Udtx::foreign(Instant now) const { return drains_in_vain() && losing(now); }

// Of whoever has just started nothing is taken: the start is quick.
bool Udtx::losing(Instant now) const {
    return now - started_ > kRatesLife && rate_ < kLosing * rates_.value(now).value_or(rate_);
}

void Udtx::begin_competing(Instant now, double rtt) {
    // With a share of 1/n before, 1/(n + 1) is fair beside one more; a newcomer never had a share: beside one, 1/2.
    const bool newcomer = to_seconds(*overrun_since_ - started_) < 1.0 + 5.0 * delay_.base_rtt();
    const double fair = mtr_.mtr() * before_ / (mtr_.mtr() + before_);
    const double share = newcomer ? 0.5 * mtr_.mtr() : fair;
    stop_waiting();
    if (left_ && now - *left_ < kRemorse) {
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
                                    .may_claim = has(UdtxPart::claim) && !shallow()});
    rate_ = std::min(compete_.window() / rtt, kMaxShare * mtr_.seen());
    const bool drained = drain_until_ || now < frozen_until_;
    const bool over = compete_.over(now, delay_.queue() <= 0.5 * half_delay(), drained, delay_.base_rtt());
    if (!over && !alone()) return false;
    compete_.leave();
    forget_drains();
    last_low_ = now;
    left_ = over && has(UdtxPart::remorse) ? std::optional(now) : std::nullopt;
    left_rate_ = rate_;
    rates_.clear();
    return true;
}

void Udtx::stop_waiting() {
    overrun_since_.reset();
    forget_drains();
    trial_.abandon();  // trials stand still now: one that runs would lower the rate for as long as this lasts
}

}  // namespace udtx::congestion
