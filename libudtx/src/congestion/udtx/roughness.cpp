#include "congestion/udtx/seen.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

void DelayDistance::add(Instant sent, double delay) {
    const Duration gap = sent - second_.sent;
    if (points_ > 0 && gap < apart_) return;
    if (points_ >= 2 && gap < kUdtx.most_apart) {
        const double part = to_seconds(second_.sent - first_.sent) / to_seconds(sent - first_.sent);
        const double distance = std::abs(second_.delay - first_.delay - part * (delay - first_.delay));
        ++samples_;
        const double weight =
            std::max(std::min(kUdtx.most_weight, to_seconds(gap) / kUdtx.distance_time), 1.0 / samples_);
        mean_ += weight * (distance - mean_);
        if (samples_ > kUdtx.first_samples) means_.add(sent, mean_);
    }
    first_ = second_;
    second_ = {sent, delay};
    points_ = std::min(points_ + 1, 2);
}

double DelayDistance::least(Instant now, Duration length) { return means_.value(now, length).value_or(0.0); }

void DelayDistance::clear() {
    points_ = 0;
    samples_ = 0.0;
    means_.clear();
}

void UdtxRoughness::on_feedback(const CongestionFeedback& feedback, double base_rtt, double limit) {
    take_delays(feedback, base_rtt, limit);
    take_trains(feedback, limit);
    take_delivery(feedback, base_rtt);
    judge(feedback.now, limit);
}

void UdtxRoughness::take_delays(const CongestionFeedback& feedback, double base_rtt, double limit) {
    for (const ArrivalSample& sample : feedback.arrivals) {
        const double delay = to_seconds(sample.delay);
        const double gap = sent_ ? to_seconds(sample.sent - *sent_) : 0.0;
        if (!sent_) mean_ = delay;
        if (sent_ && gap <= 0.0) continue;
        sent_ = sample.sent;
        near_.add(sample.sent, delay);
        far_.add(sample.sent, delay);
        mean_ += std::min(kUdtx.most_mean_weight, gap / kUdtx.mean_time) * (delay - mean_);
    }
    if (!sent_) return;
    const Instant now = feedback.now;
    bases_.add(now, mean_);
    const double life =
        rough_ ? std::clamp(kUdtx.long_rtts * base_rtt, kUdtx.least_rough_life, to_seconds(kUdtx.base_life))
               : to_seconds(kUdtx.base_life);
    const double above = mean_ - bases_.value(now, from_seconds(life)).value_or(mean_);
    const Duration window = from_seconds(std::max(kUdtx.settle_time, kUdtx.rounds * base_rtt));
    const auto [less, more] = std::minmax({near_.least(now, window), far_.least(now, window)});
    noise_ = kUdtx.distances * (pacing_ == Pacing::window ? less : more);
    queue_ = std::max(0.0, above - noise_);
    queues_.add(now, queue_);
    standing_ = queues_.value(now, window).value_or(0.0) > limit;
    if (standing_) far_.clear();
}

void UdtxRoughness::take_trains(const CongestionFeedback& feedback, double limit) {
    if (!feedback.line || feedback.line->capacity.is_zero()) return;
    const LineEstimate& line = *feedback.line;
    if (line.error >= 1.0 && line.granularity == Duration::zero()) irregular_ = feedback.now;
    bound_ = line.only_least;
    if (queue_ > limit) fastest_.clear();  // the link became slower
    slowest_.add(feedback.now, line.capacity.bytes_per_second());
    fastest_.add(feedback.now, line.capacity.bytes_per_second());
    agree_ = fastest_.value(feedback.now).value_or(0.0) < kUdtx.agree * slowest_.value(feedback.now).value_or(0.0);
}

void UdtxRoughness::take_delivery(const CongestionFeedback& feedback, double base_rtt) {
    const Instant now = feedback.now;
    const double span = std::max(base_rtt, kUdtx.least_span);
    const auto mark = [this](std::size_t back) -> Mark& { return marks_[(mark_count_ - back) % marks_.size()]; };
    bytes_ += static_cast<double>(feedback.acked_bytes);
    if (mark_count_ == 0 || to_seconds(now - mark(1).time) >= span / kUdtx.marks_per_span) {
        ++mark_count_;
        mark(1) = {now, bytes_};
    }
    for (std::size_t back = 1; back <= std::min(mark_count_, marks_.size()); ++back) {
        const double passed = to_seconds(now - mark(back).time);
        if (passed < span) continue;
        rates_.add(now, (bytes_ - mark(back).bytes) / passed);
        break;
    }
    const double time = std::clamp(kUdtx.long_rtts * base_rtt, kUdtx.least_rough_life, to_seconds(kUdtx.base_life));
    delivered_ = rates_.value(now, from_seconds(time)).value_or(0.0);
}

void UdtxRoughness::judge(Instant now, double limit) {
    const bool irregular = irregular_ && now - *irregular_ < kUdtx.irregular_life;
    if (irregular || !agree_)
        limit *= kUdtx.doubtful;
    else if (!bound_)
        limit *= kUdtx.clear;
    if (!standing_ && noise_ > (rough_ ? kUdtx.keep * limit : limit)) {
        rough_ = true;
        seen_ = now;
    } else if (now - seen_ > kUdtx.least_rough) {
        rough_ = false;
    }
}

}  // namespace udtx::congestion
