// When udtx competes: whether a queue is its own kind's or that of flows which fill it until it overflows.
#include <algorithm>
#include <limits>

#include "congestion/udtx/udtx.hpp"

namespace udtx::congestion {

namespace {
constexpr double kCrowdQueue = 5.0;                         // q_h: what thirty of our own kind make
constexpr double kForeignQueue = 1.5;                       // q_h, where the queue is known for that of others
constexpr double kLosing = 0.7;                             // of the highest x in 10 s: others take it
constexpr double kNoLoss = 0.0005;                          // random loss: below it, none to speak of
constexpr double kErratic = 4.0;                            // q_h within a second: others have just come or gone
constexpr double kErraticPatience = 5.0;                    // s
constexpr double kAlone = 0.9;                              // of C: who gets as much has no rival to speak of
constexpr double kTellingPackets = 200.0;                   // by which MTR follows a line that has become slower
constexpr double kTellingTime = 1.5;                        // s, at most: who is starved by rivals sends few
constexpr double kRivalQueue = 4.0;                         // base RTTs: what fills a longer one need not be one
constexpr double kRobbed = 0.75;                            // of x when competing ended: not of our kind, yet
constexpr Duration kRemorse = std::chrono::seconds(20);     // after competing: is what was left to others taken?
constexpr Duration kOverflowAge = std::chrono::seconds(5);  // since packets were lost to a full queue, at most
constexpr double kFailedDrains = 2.0;                       // in a row: others keep up the queue
constexpr double kSlowPackets = 1500.0;                     // Lp, the time that slow lines are given besides
constexpr double kDrainEcho = 0.3;                          // s, and three round trips: what a drain of ours may show
constexpr double kDrainGap = 2.0;                           // s, between drains of a queue that stands
}  // namespace

void Udtx::consider_competing(const CongestionFeedback& feedback) {
    const Instant now = feedback.now;
    const double rtt = delay_.base_rtt() + delay_.queue();
    pauses_.on_feedback(now, {.queue = delay_.queue(),
                              .half_delay = half_delay(),
                              .base_rtt = delay_.base_rtt(),
                              .ack_interval = acks_are_sparse() ? acks_.mean() : 0.0,
                              .drained = drain_until_ || to_seconds(now - last_drain_) < kDrainEcho + 3.0 * rtt,
                              // CUBIC, too, reduces a queue that is not full where packets are lost at random.
                              .full = overflows(now) && loss_.random() < kNoLoss ? *delay_.full() : 0.0});
    if (compete_.active() && !end_competing(feedback, rtt)) return;
    rates_.add(now, rate_);
    once_.add(now, rate_);
    if (failed_drains_ == 0) before_ = rates_.value(now).value_or(rate_);
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
    if (passed < patience) return;
    // Around its plateau CUBIC keeps a queue still for seconds, too, but not from the beginning.
    overrun_least_ = std::min(overrun_least_, delay_.queue());
    overrun_most_ = std::max(overrun_most_, delay_.queue());
    const bool still = std::max(delay_.range(), overrun_most_ - overrun_least_) < 0.5 * half_delay();
    if (still && delay_.queue() > delay_.full().value_or(0.0)) {
        if (passed < 2.0 * patience) return;
        overrun_since_.reset();
        delay_.forget_base();  // no queue stands so still: the way has become longer
        pauses_ = {};
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
    if (passed >= std::max(patience, pairs) + delay_.queue() && !alone()) begin_competing(now, rtt);
}

// A window that fitted seconds of queue would flood the line when others have gone, and their queue with them.
double Udtx::competing_window() const {
    const double time = delay_.base_rtt() + delay_.queue() + to_seconds(kSynInterval);
    return std::min(compete_.window(), kMaxShare * capacity() * time);
}

// What arrives fills the line, so that the queue is our own, whoever began it.
bool Udtx::alone() const { return mtr_.usual() > kAlone * mtr_.seen(); }

// Drains of our own kind would have emptied the queue, and left us our share.
bool Udtx::foreign(Instant now) const {
    const double slow = kSlowPackets * packet_time();
    const double patience = 3.0 + 10.0 * delay_.base_rtt() + slow;
    // Several of our kind that drain at different times do so in vain, too, but once all have joined no queue
    // overflows.
    const bool drained_in_vain = overflows(now) && failed_drains_ >= kFailedDrains + slow / kDrainGap;
    if (to_seconds(now - last_low_) <= patience && !drained_in_vain && !pauses_.regular(now)) return false;
    return losing(now);
}

bool Udtx::overflows(Instant now) const { return delay_.full() && !shallow() && now - last_overflow_ < kOverflowAge; }

bool Udtx::losing(Instant now) const { return rate_ < kLosing * rates_.value(now).value_or(rate_); }

void Udtx::begin_competing(Instant now, double rtt) {
    // With a share of 1/n before, 1/(n + 1) is fair beside one more; a newcomer never had a share: beside one, 1/2.
    const bool newcomer = to_seconds(*overrun_since_ - started_) < 1.0 + 5.0 * delay_.base_rtt();
    // By the time that two pauses have shown them, what they took is longer ago.
    const double before = pauses_.regular(now) ? std::max(before_, once_.value(now).value_or(rate_)) : before_;
    const double fair = mtr_.mtr() * before / (mtr_.mtr() + before);
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
                                    .pauses = pauses_.regular(now),
                                    .may_claim = !shallow()});
    rate_ = std::min(compete_.window() / rtt, kMaxShare * capacity());
    const bool drained = drain_until_ || now < frozen_until_;
    const bool over = compete_.over(now, delay_.queue() <= 0.5 * half_delay(), drained, delay_.base_rtt());
    if (!over && !alone()) return false;
    compete_.leave();
    forget_drains();
    last_low_ = now;
    left_ = over ? std::optional(now) : std::nullopt;
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
