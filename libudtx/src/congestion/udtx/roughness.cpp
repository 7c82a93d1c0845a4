#include "congestion/udtx/roughness.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

namespace {
// Delays
constexpr Duration kMostApart = std::chrono::milliseconds(50);  // farther apart, a queue does not move along a line
constexpr double kMeanTime = 50e-3;                             // s, time constant of m: jitter must not move it
constexpr double kMostMean = 0.5;                               // weight of one delay in m
constexpr double kDistanceTime = 0.1;                           // s, time constant of n
constexpr double kMostWeight = 0.125;                           // of one distance in n
constexpr double kFirstSamples = 16.0;                          // before n counts
constexpr double kLeastTime = 1.0;                              // s over which the least distance counts
constexpr double kLeastRtts = 3.0;                              // and at least so many round trips
constexpr double kDistances = 6.0;       // J in mean distances: uniform jitter adds at most four, in order eight
constexpr double kRoughBaseRtts = 24.0;  // life of the base on a rough path: a higher rate changes the mean
constexpr double kLeastRoughBase = 3.0;  // s, at least
constexpr double kBaseLife = 10.0;       // s

// Trains
constexpr double kAgree = 3.0;  // fastest over slowest: a slower link or cross traffic changes them less
constexpr Duration kIrregularLife = std::chrono::seconds(30);  // such trains come and go

// Rough, in parts of the limit
constexpr double kDoubtful = 0.3;  // if trains are irregular or do not agree
constexpr double kClear = 2.0;     // if trains tell the link's rate
constexpr double kKeep = 0.5;      // of that limit keeps a path rough
constexpr Duration kLeastRough = std::chrono::seconds(5);

// Delivery
constexpr double kLeastSpan = 0.1;  // s: 10 ms of jitter err a tenth of it
constexpr double kMarksPerSpan = 64.0;
constexpr double kDeliveryRtts = 12.0;  // over which the highest rate counts
constexpr double kLeastDelivery = 2.0;  // s, at least
constexpr double kMostDelivery = 12.0;  // s, at most
}  // namespace

void DelayDistance::add(Instant sent, double delay) {
    const Duration gap = sent - second_.sent;
    if (points_ > 0 && gap < apart_) return;
    if (points_ >= 2 && gap < kMostApart) {
        const double part = to_seconds(second_.sent - first_.sent) / to_seconds(sent - first_.sent);
        const double distance = std::abs(second_.delay - first_.delay - part * (delay - first_.delay));
        ++samples_;
        const double weight = std::max(std::min(kMostWeight, to_seconds(gap) / kDistanceTime), 1.0 / samples_);
        mean_ += weight * (distance - mean_);
        if (samples_ > kFirstSamples) means_.add(sent, mean_);
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
        mean_ += std::min(kMostMean, gap / kMeanTime) * (delay - mean_);
    }
    if (!sent_) return;
    const Instant now = feedback.now;
    bases_.add(now, mean_);
    const double life = rough_ ? std::clamp(kRoughBaseRtts * base_rtt, kLeastRoughBase, kBaseLife) : kBaseLife;
    const double above = mean_ - bases_.value(now, from_seconds(life)).value_or(mean_);
    const Duration window = from_seconds(std::max(kLeastTime, kLeastRtts * base_rtt));
    const auto [less, more] = std::minmax({near_.least(now, window), far_.least(now, window)});
    noise_ = kDistances * (pacing_ == Pacing::window ? less : more);
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
    agree_ = fastest_.value(feedback.now).value_or(0.0) < kAgree * slowest_.value(feedback.now).value_or(0.0);
}

void UdtxRoughness::take_delivery(const CongestionFeedback& feedback, double base_rtt) {
    const Instant now = feedback.now;
    const double span = std::max(base_rtt, kLeastSpan);
    const auto mark = [this](std::size_t back) -> Mark& { return marks_[(mark_count_ - back) % marks_.size()]; };
    bytes_ += static_cast<double>(feedback.acked_bytes);
    if (mark_count_ == 0 || to_seconds(now - mark(1).time) >= span / kMarksPerSpan) {
        ++mark_count_;
        mark(1) = {now, bytes_};
    }
    for (std::size_t back = 1; back <= std::min(mark_count_, marks_.size()); ++back) {
        const double passed = to_seconds(now - mark(back).time);
        if (passed < span) continue;
        rates_.add(now, (bytes_ - mark(back).bytes) / passed);
        break;
    }
    const double time = std::clamp(kDeliveryRtts * base_rtt, kLeastDelivery, kMostDelivery);
    delivered_ = rates_.value(now, from_seconds(time)).value_or(0.0);
}

void UdtxRoughness::judge(Instant now, double limit) {
    const bool irregular = irregular_ && now - *irregular_ < kIrregularLife;
    if (irregular || !agree_)
        limit *= kDoubtful;
    else if (!bound_)
        limit *= kClear;
    if (!standing_ && noise_ > (rough_ ? kKeep * limit : limit)) {
        rough_ = true;
        seen_ = now;
    } else if (now - seen_ > kLeastRough) {
        rough_ = false;
    }
}

}  // namespace udtx::congestion
