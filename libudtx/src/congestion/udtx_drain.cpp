// How udtx drains: its own kind does it at the same time, since all see the same minima, and so all see the base again.
#include <algorithm>

#include "congestion/udtx.hpp"

namespace udtx::congestion {

namespace {
constexpr double kLow = 0.25;                           // of q_h: a queue that nobody else keeps up
constexpr Duration kCalm = std::chrono::seconds(2);     // without a queue: drains that failed before are forgotten
constexpr double kMargin = 2e-3;                        // s of queue more than there is
constexpr double kMost = 20e-3;                         // s of drain, where half a round trip is less,
constexpr double kMostAmongRivals = 1.0;                // s
constexpr double kCompany = 2.0;                        // times what we drain ourselves,
constexpr double kMuch = 0.6;                           // and of the usual queue, goes: others drain as well
constexpr int kPatientDrains = 2;                       // so many may fail before they take longer,
constexpr int kLongestDrain = 8;                        // so many times at most
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
    look_for_company(now);
    if (drain_until_) {
        if (now >= *drain_until_) end_drain(now);
        return;
    }
    if (compete_.active()) {
        if (compete_.take_drain(now)) begin_drain(now, std::min(time_to_empty(delay_.queue()), kMostAmongRivals));
        return;
    }
    const bool fell = drain_base_ && to_seconds(*drain_base_ - delay_.base()) > 0.25 * half;
    const double since = to_seconds(now - last_drain_);
    const bool stands = to_seconds(now - last_low_) > 2.0 && since > std::max(1.0, 4.0 * rtt);
    const bool joined = fell && since > std::max(0.25, 3.0 * rtt);
    if (!drain_base_ || joined || delay_.base() > *drain_base_) drain_base_ = delay_.base();
    // The queue that a flow alone keeps would become the base once the last empty one is 10 s ago, time and again.
    // A shallow buffer bounds that itself.
    const bool stale = now - last_drain_ > kBaseAge && alone() && !shallow();
    if (!stands && !joined && !stale) return;
    if (stands) ++failed_drains_;  // until it shows
    // The queue swings: after a drain in vain what is usual counts, not what there is at the moment.
    const bool whole = stands && failed_drains_ > 1;
    begin_drain(now, drain_length(now, whole ? std::max(delay_.queue(), equilibrium_delay()) : delay_.queue()));
    company_until_ = *drain_until_ + from_seconds(2.0 * rtt + delay_.queue());
    company_least_ = delay_.queue();
}

// More of the queue goes than this flow's part of it: others have drained as well. Twice: CUBIC reduces now and then.
void Udtx::look_for_company(Instant now) {
    if (!company_until_) return;
    company_least_ = std::min(company_least_, delay_.queue());
    if (now < *company_until_) return;
    company_until_.reset();
    const double usual = share_.mean_queue();
    const double own = usual * rate_ / std::max(capacity(), 1.0);
    const bool company = usual - company_least_ > std::max(kCompany * own, kMuch * usual);
    if (company && had_company_) last_company_ = now;
    had_company_ = company;
}

double Udtx::time_to_empty(double queue) { return (queue + kMargin) / (1.0 - kDrainPace); }

// As long as the queue takes to empty if all do the same, but not for a queue that so many of our kind would not make.
// Flows of our kind that have come to drain at different times, each for itself in vain, would never meet again: a
// longer drain of one shows the base to all, who then follow. To rivals it would be a present.
double Udtx::drain_length(Instant now, double queue) const {
    const double most = std::max({delay_.base_rtt() / 2.0, kMost, time_to_empty(equilibrium_delay())});
    const int longer = losing(now) ? 1 : std::clamp(failed_drains_ - kPatientDrains, 1, kLongestDrain);
    return longer * std::min(time_to_empty(queue), most);
}

void Udtx::begin_drain(Instant now, double length) {
    drain_until_ = now + from_seconds(length);
    last_drain_ = now;
}

void Udtx::end_drain(Instant now) {
    drain_until_.reset();
    frozen_until_ = now + from_seconds(delay_.base_rtt());
}

}  // namespace udtx::congestion
