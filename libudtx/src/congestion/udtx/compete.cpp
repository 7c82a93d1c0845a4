#include "congestion/udtx/compete.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

namespace {
constexpr double kC = 0.4;                                      // segments/s^3, RFC 9438, section 5
constexpr double kBeta = 0.7;                                   // RFC 9438, section 4.6
constexpr double kAlpha = 3.0 * (1.0 - kBeta) / (1.0 + kBeta);  // segments a round trip, RFC 9438, section 4.3
constexpr double kDip = 0.75;                                   // of the highest queue of 2 s: below, others backed off
constexpr double kDrainGap = 4.0;                               // s, least time between drains
constexpr double kDrainAnyway = 8.0;                            // s, most time between drains
constexpr double kMaxGrowthPerRtt = 1.5;                        // RFC 9438, section 4.2
constexpr double kFixedLife = 20.0;                             // s; then the share is judged again
constexpr double kFixedLeast = 15.0;  // s; from then on it also ends at a dip, which others that end theirs make
constexpr double kBearable = 0.06;    // own loss at which a fixed share stops growing
constexpr double kFixedTime = 3.0;    // s until a fixed share is full without loss
constexpr double kUsualTime = 5.0;    // s over which the fixed share is averaged
constexpr double kMore = 1.1;         // times that average is the most of the next fixed share
constexpr double kLeastShare = 0.6;   // of what was fair at the beginning, the least bound of a fixed share
constexpr int kPauses = 2;            // of others: competing flows that pause do not react to loss
constexpr double kPause = 0.5;        // s, plus four round trips: longer than ProbeRTT keeps the queue empty
}  // namespace

void DecayingRatio::add(double lost, double packets, double dt) {
    const double keep = std::exp(-dt / life_);
    lost_ = lost_ * keep + lost;
    packets_ = packets_ * keep + packets;
}

void UdtxCompete::enter(Instant now, const Entry& entry) {
    *this = UdtxCompete();
    share_ = fair_ = entry.share;
    updated_ = now;
    resume(now, entry.window, entry.goal);
}

void UdtxCompete::resume(Instant now, double window, double goal) {
    active_ = true;
    window_ = origin_ = estimate_ = window;
    window_max_ = prior_window_ = std::max(goal, window);
    epoch_ = round_ = last_drain_ = now;
    losses_ = packets_ = 0.0;
    recovery_until_ = 0;
    drain_due_ = false;
    empty_since_.reset();
}

bool UdtxCompete::over(Instant now, bool empty, bool drained, double base_rtt) {
    if (!empty) {
        if (empty_since_ && !drained) ++pauses_;
        empty_since_.reset();
        return false;
    }
    if (!empty_since_) empty_since_ = now;
    return drained || to_seconds(now - *empty_since_) > kPause + 4.0 * base_rtt;
}

void UdtxCompete::count(const CongestionFeedback& feedback, const Path& path) {
    const double dt = to_seconds(feedback.now - updated_);
    updated_ = feedback.now;
    const double packets = feedback.acked_packets + path.congestion_losses;
    const double excess = path.congestion_losses - path.random_loss * packets;
    recent_loss_.add(excess, packets, dt);
    fix_share(feedback.now, path, dt);

    if (to_seconds(feedback.now - round_) > path.rtt) {
        round_ = feedback.now;
        losses_ = packets_ = 0.0;
    }
    losses_ += path.congestion_losses;
    packets_ += packets;
}

// The fixed shares of several flows may keep up the very loss that each of them answers. So every fixed share ends, and
// all are judged at the same time: a flow that gives up its share drains the queue, which the others see.
void UdtxCompete::fix_share(Instant now, const Path& path, double dt) {
    const double time = path.rtt + to_seconds(kSynInterval);
    fixed_ = fixed_ && path.may_fix;
    if (!fixed_) {
        if (!path.may_fix) return;
        if (pauses_ < kPauses) return;
        fixed_ = true;
        fixed_since_ = now;
        fixed_share_ = usual_ = std::min(window_ / time, share_);
    }
    const double room = 1.0 - recent_loss_.value() / kBearable;
    fixed_share_ += (room > 0.0 ? share_ : fixed_share_) * std::max(room, -1.0) * std::min(dt / kFixedTime, 1.0);
    fixed_share_ = std::min(fixed_share_, share_);
    usual_ += std::min(dt / kUsualTime, 1.0) * (fixed_share_ - usual_);
}

void UdtxCompete::judge_anew(Instant now, double segment) {
    reduce(now, segment);
    // Bounds the next fixed share. Otherwise several such flows would grow into what one of them gives up.
    share_ = std::min(share_, std::max(kMore * usual_, kLeastShare * fair_));
    fixed_ = false;
}

void UdtxCompete::on_feedback(const CongestionFeedback& feedback, const Path& path) {
    const Instant now = feedback.now;
    const double segment = path.segment;
    count(feedback, path);
    const double expected = path.random_loss * packets_;
    if (path.congestion_losses > 0 && losses_ > expected + 2.0 * std::sqrt(expected) &&
        feedback.lost.back().number > recovery_until_) {
        recovery_until_ = feedback.largest_sent;
        reduce(now, segment);
    }
    // W(t) = C (t - K)^3 + W_max, K from the window at the start of the epoch.
    const double k = std::cbrt(std::max(0.0, window_max_ - origin_) / segment / kC);
    const double t = to_seconds(now - epoch_) + path.rtt - k;
    const double target = std::clamp(kC * t * t * t * segment + window_max_, origin_, kMaxGrowthPerRtt * window_);
    const double share = std::min(1.0, static_cast<double>(feedback.acked_bytes) / std::max(window_, 1.0));
    if (!feedback.application_limited) {
        // With short round trips or small windows CUBIC grows like Reno: RFC 9438, section 4.3.
        estimate_ += share * (estimate_ < prior_window_ ? kAlpha : 1.0) * segment;
        window_ = std::max({window_, window_ + share * (target - window_), estimate_});
    }

    if (fixed_) window_ = std::max(window_, fixed_share_ * (path.rtt + to_seconds(kSynInterval)));
    look_for_drain(now, path.queue, segment);
}

void UdtxCompete::look_for_drain(Instant now, double queue, double segment) {
    peaks_.add(now, queue);
    const bool dip = queue < kDip * peaks_.value(now).value_or(0.0);
    if (!fixed_) {
        drain_due_ = drain_due_ || dip || to_seconds(now - last_drain_) > kDrainAnyway;
        return;
    }
    drain_due_ = to_seconds(now - fixed_since_) > (dip ? kFixedLeast : kFixedLife);
    if (drain_due_) judge_anew(now, segment);
}

void UdtxCompete::reduce(Instant now, double segment) {
    // Fast convergence, RFC 9438, section 4.7.
    window_max_ = window_ < window_max_ ? window_ * (1.0 + kBeta) / 2.0 : window_;
    prior_window_ = window_;
    window_ = origin_ = estimate_ = std::max(window_ * kBeta, 4.0 * segment);
    epoch_ = now;
    drain_due_ = true;
}

bool UdtxCompete::take_drain(Instant now) {
    const bool due = drain_due_ && to_seconds(now - last_drain_) > kDrainGap;
    drain_due_ = false;
    if (due) last_drain_ = now;
    return due;
}

}  // namespace udtx::congestion
