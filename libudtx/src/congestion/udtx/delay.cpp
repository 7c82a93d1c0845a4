#include "congestion/udtx/delay.hpp"

#include <algorithm>
#include <cmath>

#include "wire/frame.hpp"

namespace udtx::congestion {

namespace {
constexpr double kFaster = 1.25;  // than the link: at less, the known link rate may be wrong
constexpr Duration kSpan = std::chrono::milliseconds(100);
constexpr Duration kLife = std::chrono::seconds(10);  // of jitter no longer seen; as long as the life of a base delay

constexpr double kNewestRtts = 0.25;   // the smallest delay of so many base RTTs counts
constexpr double kLeastNewest = 2e-3;  // s, at least
constexpr double kMostNewest = 25e-3;  // s, at most
constexpr double kMostCalm = 6.0;      // of the jitter: more is a standing queue
}  // namespace

void UdtxJitter::on_feedback(const CongestionFeedback& feedback, double line, double least) {
    if (feedback.arrivals.empty() || feedback.acked_packets == 0 || line <= 0.0) return;
    count(feedback.now, longest_burst(feedback, line));
    const double usual = usual_burst();
    // Burst ends are off a straight line (probing/line_estimate.hpp).
    const bool held_up = feedback.line && !feedback.line->capacity.is_zero() && feedback.line->error >= 1.0 &&
                         feedback.line->granularity == Duration::zero();
    if (usual > least || held_up) {
        last_ = feedback.now;
        size_ = std::max(usual, least);
    } else if (feedback.now - last_ > kLife) {
        size_ = 0.0;
    }
}

// Time by which packets arrive earlier than at the link's rate: a bucket that the link empties.
double UdtxJitter::longest_burst(const CongestionFeedback& feedback, double line) {
    const double packet_time = static_cast<double>(feedback.acked_bytes) / feedback.acked_packets / (kFaster * line);
    double longest = 0.0;
    for (const ArrivalSample& sample : feedback.arrivals) {
        if (previous_ && sample.number <= previous_->number) continue;
        if (previous_) {
            const double came = to_seconds(sample.sent + sample.delay - previous_->sent - previous_->delay);
            burst_ = std::max(0.0, burst_ + packets_between(feedback, sample.number) * packet_time - came);
            longest = std::max(longest, burst_);
        }
        previous_ = sample;
    }
    return longest;
}

// Packets that arrived since the sample before. It is 0 if some may be lost, as those took no time on the link.
double UdtxJitter::packets_between(const CongestionFeedback& feedback, PacketNumber number) const {
    const PacketNumber packets = number - previous_->number;
    if (packets < wire::kArrivalEvery || packets > std::max<PacketNumber>(wire::kArrivalEvery, feedback.acked_packets))
        return 0.0;
    const bool lost = std::any_of(feedback.lost.begin(), feedback.lost.end(), [&](const CongestionLost& packet) {
        return packet.number > previous_->number && packet.number < number;
    });
    return lost ? 0.0 : static_cast<double>(packets);
}

void UdtxJitter::count(Instant now, double burst) {
    const std::int64_t span = now.time_since_epoch() / kSpan;
    for (std::int64_t passed = std::max(span_ + 1, span - static_cast<std::int64_t>(kSpans) + 1); passed <= span;
         ++passed)
        bursts_[static_cast<std::size_t>(passed) % kSpans] = 0.0;
    span_ = span;
    double& longest = bursts_[static_cast<std::size_t>(span) % kSpans];
    longest = std::max(longest, burst);
}

// Uses several spans, so that a receiver that stood still once does not count as jitter.
double UdtxJitter::usual_burst() const {
    std::array<double, kSpans> sorted = bursts_;
    const auto third = sorted.end() - 3;
    std::nth_element(sorted.begin(), third, sorted.end());
    return *third;
}

Duration JitterNoise::on_delay(Instant now, Duration delay, Duration base, const Path& path) {
    if (path.jitter <= 0.0) {
        clear();
        return delay;
    }
    if (!newest_) newest_.emplace(from_seconds(std::clamp(kNewestRtts * path.base_rtt, kLeastNewest, kMostNewest)));
    newest_->add(now, delay);
    const Duration lowest = newest_->value(now).value_or(delay);
    calms_.add(now, lowest);
    const double calm = to_seconds(calms_.value(now).value_or(lowest) - base);
    height_ = std::min(kMost, path.jitter + std::clamp(calm, 0.0, kMostCalm * path.jitter));
    return lowest;
}

void JitterNoise::clear() {
    newest_.reset();
    calms_.clear();
    height_ = 0.0;
}

namespace {
constexpr double kDeadZone = 0.4e-3;     // s: timers, interrupts, own bursts
constexpr double kDeadPackets = 1.5;     // Lp: the packet in front and half of the own pair
constexpr double kNewestWindow = 2e-3;   // s of arrivals that count as now
constexpr double kSmoothingRtts = 0.25;  // qf
constexpr double kWayBackWeight = 0.25;  // of a new sample
constexpr double kLongPart = 0.6;        // of the highest delay of 5 s is a long one
constexpr double kLeastLong = 1e-3;      // s, least long delay
constexpr double kLongPackets = 2.0;     // Lp, least long delay
constexpr double kLongNoises = 1.5;      // of the delay that jitter adds, least long delay
constexpr int kLosses = 16;              // losses over which the mean delay is taken
constexpr double kAlike = 0.5;           // of the longest: above it, the same queue dropped all of them
constexpr double kFuller = 1.5;          // of the usual queue: above it, the queue was full
}  // namespace

void UdtxDelay::on_feedback(const CongestionFeedback& feedback, double packet_time, double jitter) {
    if (feedback.rtt_sample) rtts_.add(feedback.now, *feedback.rtt_sample);
    if (const auto rtt = rtts_.value(feedback.now)) {
        const double least = std::max(to_seconds(*rtt), 1e-4);
        base_rtt_ = hold_ && base_rtt_ > 0.0 ? std::min(base_rtt_, least) : least;
    }
    if (feedback.arrivals.empty()) return;
    take_arrivals(feedback, packet_time, jitter);
    take_return_delay(feedback);
    last_lows_.add(feedback.now, queue_);
    last_highs_.add(feedback.now, queue_);
    range_ = last_highs_.value(feedback.now).value_or(0.0) - last_lows_.value(feedback.now).value_or(0.0);
    full_ = above_base(fulls_.value(feedback.now));
    // Jitter may look like a full queue.
    if (jitter > 0.0 && full_ && *full_ < JitterNoise::kMost) full_.reset();
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

void UdtxDelay::take_arrivals(const CongestionFeedback& feedback, double packet_time, double jitter) {
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
    if (jitter > 0.0 && !noise_.active()) losses_.clear();
    now_delay = noise_.on_delay(feedback.now, now_delay, *base_, {.jitter = jitter, .base_rtt = base_rtt_});
    queue_ = std::max(0.0, to_seconds(now_delay - *base_) - std::max(dead_zone(packet_time), noise_.height()));
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
    noise_.clear();
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
