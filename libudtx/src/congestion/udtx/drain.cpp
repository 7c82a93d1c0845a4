// How udtx drains: its own kind does it at the same time, since all see the same minima, and so all see the base again.
#include <algorithm>

#include "congestion/udtx/udtx.hpp"

namespace udtx::congestion {

namespace {
constexpr double kLow = 0.25;                           // of q_h: a queue that nobody else keeps up
constexpr Duration kCalm = std::chrono::seconds(2);     // without a queue: drains that failed before are forgotten
constexpr double kMargin = 2e-3;                        // s of queue more than there is
constexpr double kMostTime = 20e-3;                     // s of drain, where half a round trip is less,
constexpr double kMostAmongRivals = 1.0;                // s
constexpr int kPatient = 3;                             // drains that may fail before the next take longer,
constexpr int kMostTimes = 8;                           // twice, three times to so many times as long;
constexpr double kMostOfGap = 0.25;                     // but no more of the time than this. Then as before
constexpr Duration kBaseAge = std::chrono::seconds(5);  // half of the base's life: then a drain shows it again
}  // namespace

void Udtx::consider_drain(Instant now) {
    const double half = half_delay();
    const double rtt = delay_.base_rtt();
    if (delay_.queue() <= (kLow + rest() - kRest) * half) {
        last_low_ = now;
        if (drain_until_ || now < frozen_until_ || now - last_high_ > kCalm) failed_drains_ = 0;
    } else {
        last_high_ = now;
    }
    if (drain_until_) {
        // A long one has reached what it was for.
        if (now >= *drain_until_ || (long_drain_ && last_low_ == now)) end_drain(now);
        return;
    }
    if (compete_.active()) {
        if (compete_.take_drain(now)) begin_drain(now, std::min(time_to_empty(delay_.queue()), kMostAmongRivals));
        return;
    }
    const bool fell = drain_base_ && to_seconds(*drain_base_ - delay_.base()) > 0.25 * half;
    const double since = to_seconds(now - last_drain_);
    const double gap = std::max(1.0, 4.0 * rtt);
    const bool stands = to_seconds(now - last_low_) > 2.0 && since > gap;
    const bool joined = fell && since > std::max(0.25, 3.0 * rtt);
    if (!drain_base_ || joined || delay_.base() > *drain_base_) drain_base_ = delay_.base();
    // The queue that a flow alone keeps would become the base once the last empty one is 10 s ago, time and again.
    // A shallow buffer bounds that itself.
    const bool stale = now - last_drain_ > kBaseAge && alone() && !shallow();
    if (!stands && !joined && !stale) return;
    if (!stands) return begin_drain(now, drain_length(delay_.queue()));
    // The queue swings: after a drain in vain what our kind would keep counts, not what there is at the moment.
    const double usual = failed_drains_ > 0 ? equilibrium_delay() : 0.0;
    const double length = drain_length(std::max(delay_.queue(), usual));
    const double longer = std::max(length, std::min(patience_times(now) * length, kMostOfGap * gap));
    ++failed_drains_;  // until it shows
    begin_drain(now, longer);
    long_drain_ = longer > length;
}

double Udtx::time_to_empty(double queue) { return (queue + kMargin) / (1.0 - kDrainPace); }

// As long as the queue takes to empty if all do the same, but not for a queue that so many of our kind would not make.
double Udtx::drain_length(double queue) const {
    const double most = std::max({delay_.base_rtt() / 2.0, kMostTime, time_to_empty(equilibrium_delay())});
    return std::min(time_to_empty(queue), most);
}

// Flows of our kind that have come to drain at different times, each for itself in vain, would never meet again. A
// longer drain of one shows the base to all, who then follow. To rivals it would be a present, and in a shallow buffer
// many of our kind keep up a queue, too.
double Udtx::patience_times(Instant now) const {
    const int times = failed_drains_ - kPatient + 2;
    return times > kMostTimes || losing(now) || shallow() ? 1.0 : std::max(times, 1);
}

void Udtx::begin_drain(Instant now, double length) {
    drain_until_ = now + from_seconds(length);
    last_drain_ = now;
    long_drain_ = false;
}

void Udtx::end_drain(Instant now) {
    drain_until_.reset();
    frozen_until_ = now + from_seconds(delay_.base_rtt());
}

// What drains have told is about a queue that is no longer there.
void Udtx::forget_drains() {
    drain_until_.reset();
    failed_drains_ = 0;
}

}  // namespace udtx::congestion
