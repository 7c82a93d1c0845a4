#include "congestion/udtx/compete.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "congestion/udtx/constants.hpp"

namespace udtx::congestion {

bool UdtxDrains::on_feedback(const CongestionFeedback& feedback, const Seen& seen) {
    seen_ = seen;
    double interval = seen.alone ? kUdtx.alone_interval : kUdtx.drain_interval;
    while (!seen.alone && interval < kUdtx.drain_rtts * seen.base_rtt) interval *= 2.0;
    interval_ = from_seconds(interval);
    for (const ArrivalSample& sample : feedback.arrivals) note_shortest(sample);
    // Until the drain takes effect, an RTT later, the queue is what it was without it.
    if (to_seconds(feedback.now - begun_) < seen.base_rtt) before_ = std::max(before_, seen.queue);
    least_ = std::min(least_, seen.queue);
    low_ = low_ || seen.queue <= seen.empty;
    if (!judge_at_ || feedback.now < *judge_at_) return false;
    judge();
    return true;
}

// Others may drain slightly before this flow. The dip that they make is the next shortest queue.
void UdtxDrains::note_shortest(const ArrivalSample& sample) {
    const auto shorter_than = [&](const ArrivalSample& other) {
        return sample.delay + from_seconds(seen_.same) < other.delay;
    };
    if (!shortest_ || shorter_than(*shortest_)) {
        shortest_ = sample;
        next_.reset();
    } else if (sample.sent - shortest_->sent >= interval_ * 3 / 4) {
        const bool dips = next_ && shorter_than(*next_);
        if (!next_) dips_ = false;
        if (!next_ || dips) next_ = sample;
        dips_ = dips_ || dips;
    }
}

bool UdtxDrains::due(Instant now) const { return shortest_ && now - shortest_->sent >= interval_; }

void UdtxDrains::begin(Instant now, double length) {
    shortest_ = dips_ ? next_ : std::nullopt;
    next_.reset();
    begun_ = now;
    until_ = now + from_seconds(length);
    judge_at_ = until_ + from_seconds(seen_.base_rtt + seen_.queue);
    before_ = least_ = seen_.queue;
    low_ = false;
}

void UdtxDrains::judge() {
    judge_at_.reset();
    const bool in_vain = !low_ && least_ > kUdtx.emptied * before_;
    in_vain_ = (in_vain_ << 1U | (in_vain ? 1U : 0U)) & 0xFU;
    ++judged_;
}

bool UdtxDrains::in_vain() const {
    return judged_ >= 4 && (in_vain_ & 1U) != 0 && std::popcount(in_vain_) >= kUdtx.drains;
}

void UdtxDrains::forget() {
    judge_at_.reset();
    in_vain_ = 0;
    judged_ = 0;
}

UdtxCompany::Verdict UdtxCompany::on_feedback(const Seen& seen) {
    // In a shallow buffer so many q_h are the whole buffer, which many `udtx` flows fill, too.
    const double most = (seen.known ? kUdtx.foreign_queue : kUdtx.many_flows) * seen.half_delay;
    if ((seen.shallow && !seen.known) || seen.queue < most) {
        since_.reset();
        return Verdict::none;
    }
    if (!since_) {
        since_ = seen.now;
        least_ = std::numeric_limits<double>::max();
        most_ = 0.0;
    }
    const double passed = to_seconds(seen.now - *since_);
    const double patience = std::max(kUdtx.settle_time, kUdtx.long_rtts * seen.base_rtt);
    // Around its plateau CUBIC, too, keeps a queue still for seconds, but not from the start. So the time right after
    // the queue's jump does not count.
    if (passed >= 0.5 * patience) {
        least_ = std::min(least_, seen.queue);
        most_ = std::max(most_, seen.queue);
    }
    if (passed < patience) return Verdict::none;
    if (most_ - least_ < 0.5 * seen.half_delay && seen.queue > seen.full) {
        if (passed < 2.0 * patience) return Verdict::none;
        since_.reset();
        return Verdict::longer_path;
    }
    // New `udtx` flows that start one after another make as long a queue, but it varies.
    if (seen.range > kUdtx.erratic * seen.half_delay && passed < std::max(kUdtx.erratic_patience, 2.0 * patience))
        return Verdict::none;
    // A reaction to a queue shows only after packets sent later have passed the queue. A slower link shows only after
    // pairs have measured it. A flow that fills a queue without limit ignores losses, so competing with it only adds to
    // the queue.
    const double packets = kUdtx.telling_packets / std::max(seen.packets, 1.0);
    const double pairs =
        seen.queue <= kUdtx.competing_queue * seen.base_rtt ? std::min(packets, kUdtx.telling_time) : packets;
    const bool worthwhile = seen.queue < kUdtx.hopeless && !seen.alone;
    return worthwhile && passed >= std::max(patience, pairs) + seen.queue ? Verdict::others : Verdict::none;
}

double UdtxClaim::median() const {
    const auto& [a, b, c] = sums_;
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

double UdtxClaim::others() const { return measured_ < sums_.size() ? 0.0 : 1.0 - median(); }

void UdtxClaim::begin(double share) {
    share_ = share;
    emptied_ = 0;
    measured_ = 0;
}

bool UdtxClaim::over() const noexcept { return emptied_ >= kUdtx.drains; }

void UdtxClaim::on_drain(const Drain& drain) {
    drain_ = drain;
    longest_.reset();
    shortest_.reset();
    empty_at_.reset();
}

void UdtxClaim::on_arrivals(const std::vector<ArrivalSample>& arrivals) {
    const Instant middle = drain_.begin + (drain_.end - drain_.begin) / 2;
    for (const auto& [number, sent, delay] : arrivals) {
        if (sent < drain_.begin - kUdtx.skew || sent > drain_.end + kUdtx.skew) continue;
        if (sent < middle) longest_ = std::max(longest_.value_or(delay), delay);
        if (sent <= drain_.begin) continue;
        shortest_ = std::min(shortest_.value_or(delay), delay);
        if (!empty_at_ && delay <= drain_.base + drain_.dead && sent < drain_.end) empty_at_ = sent;
    }
}

// X. The queue of a flow that came late may never have been empty. Its base is then too high, and a drain lowers it.
std::optional<double> UdtxClaim::sum_of_shares(const Outcome& outcome) const {
    if (!longest_ || !shortest_) return std::nullopt;
    const Instant until = empty_at_ && !base_fell() ? *empty_at_ : drain_.end;
    const double fall = to_seconds(*longest_ - *shortest_) / to_seconds(until - drain_.begin);
    // 1/(1-p) of C arrives at a full queue. The drain takes this excess away before the queue falls.
    const double loss = std::min(outcome.loss, kUdtx.most_loss);
    return std::clamp((fall + loss / (1.0 - loss)) / (1.0 - drain_.part), std::min(outcome.share, 1.0), 1.0);
}

void UdtxClaim::on_drained(const Outcome& outcome) {
    emptied_ = outcome.emptied && !base_fell() ? emptied_ + 1 : 0;
    const std::optional<double> measured = sum_of_shares(outcome);
    if (!measured) return;
    sums_[measured_++ % sums_.size()] = *measured;
    if (!share_) return;
    const double sum = measured_ < sums_.size() ? *measured : std::max(outcome.share, median());
    const double bearable = kUdtx.bearable / std::max(outcome.loss, kUdtx.bearable);
    const double target = bearable * outcome.share / (sum + outcome.share);
    *share_ += std::max(kUdtx.weight, 1.0 / static_cast<double>(measured_)) * (target - *share_);
}

}  // namespace udtx::congestion
