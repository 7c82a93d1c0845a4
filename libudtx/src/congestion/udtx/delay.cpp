#include "congestion/udtx/delay.hpp"

#include <algorithm>
#include <cmath>

#include "wire/frame.hpp"

namespace udtx::congestion {

namespace {
constexpr double kDeadZone = 0.4e-3;       // s: timers, interrupts, own bursts
constexpr double kDeadPackets = 1.5;       // Lp: the packet in front and half of the own pair
constexpr double kNewestWindow = 2e-3;     // s of arrivals that count as now
constexpr double kSmoothingRtts = 0.25;    // qf
constexpr double kWayBackWeight = 0.25;    // of a new sample
constexpr double kLongPart = 0.6;          // of the highest delay of 5 s is a long one
constexpr double kLeastLong = 1e-3;        // s, least long delay
constexpr double kLongPackets = 2.0;       // Lp, least long delay
constexpr double kLongNoises = 1.5;        // of the delay that jitter adds, least long delay
constexpr double kLeastRoughFull = 15e-3;  // s, the shortest full queue that a doubtful path can show
constexpr int kLosses = 16;                // losses over which the mean delay is taken
constexpr double kAlike = 0.5;             // of the longest: above it, the same queue dropped all of them
constexpr double kFuller = 1.5;            // of the usual queue: above it, the queue was full
}  // namespace

void UdtxDelay::on_feedback(const CongestionFeedback& feedback, double packet_time, const UdtxRoughness& roughness) {
    if (feedback.rtt_sample) rtts_.add(feedback.now, *feedback.rtt_sample);
    if (const auto rtt = rtts_.value(feedback.now)) {
        const double least = std::max(to_seconds(*rtt), 1e-4);
        base_rtt_ = hold_ && base_rtt_ > 0.0 ? std::min(base_rtt_, least) : least;
    }
    if (feedback.arrivals.empty()) return;
    take_arrivals(feedback, packet_time, roughness);
    take_return_delay(feedback);
    last_lows_.add(feedback.now, queue_);
    last_highs_.add(feedback.now, queue_);
    range_ = last_highs_.value(feedback.now).value_or(0.0) - last_lows_.value(feedback.now).value_or(0.0);
    full_ = above_base(fulls_.value(feedback.now));
    // Jitter may look like a full queue.
    if (roughness.doubtful() && full_ && *full_ < kLeastRoughFull) full_.reset();
    highest_ = above_base(highs_.value(feedback.now)).value_or(0.0);

    const double dt = updated_ ? to_seconds(feedback.now - *updated_) : 0.0;
    updated_ = feedback.now;
    const double tau = std::max(kSmoothingRtts * base_rtt_, 1e-3);
    smoothed_ += (1.0 - std::exp(-dt / tau)) * (queue_ - smoothed_);
}

void UdtxDelay::take_return_delay(const CongestionFeedback& feedback) {
    if (!feedback.rtt_sample || !feedback.one_way_delay) return;
    const double there = to_seconds(*feedback.one_way_delay - *base_);
    // A peer that stood still is not a queue: a wait counts as at most one round trip.
    const double waited = std::clamp(to_seconds(*feedback.rtt_sample) - base_rtt_ - there, 0.0, base_rtt_);
    way_back_ += kWayBackWeight * (waited - way_back_);
}

double UdtxDelay::dead_zone(double packet_time) { return std::max(kDeadZone, kDeadPackets * packet_time); }

double UdtxDelay::long_queue(double packet_time) const {
    return std::max({kLongPart * highest(), kLeastLong, kLongPackets * packet_time, kLongNoises * noise()});
}

void UdtxDelay::take_arrivals(const CongestionFeedback& feedback, double packet_time, const UdtxRoughness& roughness) {
    const ArrivalSample& newest = feedback.arrivals.back();
    const Instant newest_time = newest.sent + newest.delay;
    const Duration window = from_seconds(std::max(kNewestWindow, 3.0 * packet_time));
    Duration now_delay = newest.delay;
    for (const ArrivalSample& sample : feedback.arrivals) {
        bases_.add(feedback.now, sample.delay);
        if (newest_time - (sample.sent + sample.delay) <= window) now_delay = std::min(now_delay, sample.delay);
        const bool ascends = point_count_ == 0 || points_[(point_count_ - 1) % kPoints].number < sample.number;
        if (ascends) points_[point_count_++ % kPoints] = {sample.number, sample.delay};
    }
    const std::optional<Duration> held = hold_ ? base_ : std::nullopt;
    base_ = bases_.value(feedback.now);
    if (held) base_ = std::min(*base_, *held);
    const bool rough = roughness.rough();
    if (rough && noise_ <= 0.0) losses_.clear();
    noise_ = rough ? roughness.noise() : 0.0;
    queue_ = rough ? roughness.queue() : std::max(0.0, to_seconds(now_delay - *base_) - dead_zone(packet_time));
    for (const ArrivalSample& sample : feedback.arrivals) highs_.add(feedback.now, sample.delay);
}

std::optional<double> UdtxDelay::above_base(std::optional<Duration> delay) const {
    if (!delay || !base_) return std::nullopt;
    return std::max(0.0, to_seconds(*delay - *base_));
}

double UdtxDelay::queue_around(PacketNumber number) const {
    if (point_count_ == 0 || !base_) return 0.0;
    const std::size_t known = std::min(point_count_, kPoints);
    std::size_t low = point_count_ - known;  // first point above `number` is searched in [low, high]
    std::size_t high = point_count_;
    const std::size_t first = low;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (points_[middle % kPoints].number > number) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Duration delay = *base_;
    if (low < point_count_) delay = std::max(delay, points_[low % kPoints].delay);
    if (low > first) delay = std::max(delay, points_[(low - 1) % kPoints].delay);
    return to_seconds(delay - *base_);
}

void UdtxDelay::note_lost(Instant now, double queue) {
    const Duration delay = base() + from_seconds(queue);
    if (!losses_.value(now)) mean_loss_.reset();
    losses_.add(now, delay);
    mean_loss_ = mean_loss_ ? *mean_loss_ + (delay - *mean_loss_) / kLosses : delay;
}

double UdtxDelay::lost_at(Instant now, double usual) const {
    const double longest = above_base(losses_.value(now)).value_or(0.0);
    const double mean = above_base(mean_loss_).value_or(0.0);
    return mean > std::max(kAlike * longest, kFuller * usual) ? longest : 0.0;
}

void UdtxDelay::forget_base() {
    bases_.clear();
    noise_ = 0.0;
    rtts_.clear();
    highs_.clear();
    fulls_.clear();
    last_lows_.clear();
    last_highs_.clear();
    range_ = 0.0;
    hold_ = false;
    full_.reset();
    losses_.clear();
    mean_loss_.reset();
    base_.reset();
    queue_ = smoothed_ = highest_ = way_back_ = 0.0;
}

}  // namespace udtx::congestion
