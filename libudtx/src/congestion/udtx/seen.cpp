#include "congestion/udtx/seen.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "wire/frame.hpp"

namespace udtx::congestion {

void UdtxMtr::on_feedback(const CongestionFeedback& feedback, double degree, Told what) {
    if (feedback.delivery) deliver(feedback.now, *feedback.delivery);
    count(feedback);
    if (limit_) *limit_ *= 1.0 + kUdtx.limit_growth * std::clamp(to_seconds(feedback.now - updated_), 0.0, 1.0);
    updated_ = feedback.now;
    delivered_ = recent_.value(feedback.now, std::max(kRecentLife, 3 * feedback.smoothed_rtt)).value_or(0.0);
    const double most = deliveries_.value(feedback.now).value_or(0.0);
    if (feedback.line && !feedback.line->capacity.is_zero()) {
        told_ = std::min(feedback.line->capacity.bytes_per_second(), kUdtx.most_mtr);
        open_ = feedback.line->only_least && feedback.line->error < 1.0;
        granularity_ = feedback.line->granularity;
        const bool least = feedback.line->only_least || what == Told::least;
        if (what != Told::least)
            mean_ = 0.0;
        else
            mean_ = averaged(mean_ > 0.0 ? mean_ : mtr_ > 0.0 ? mtr_ : told_, told_);
        const double estimate = least ? std::max(told_, kUdtx.open * most) : told_;
        if (mtr_ <= 0.0 || (least && estimate > mtr_)) {
            mtr_ = estimate;
            smoothed_at_ = feedback.now;
        } else if (!smoothed_at_ || feedback.now - *smoothed_at_ >= kSynInterval) {
            smoothed_at_ = feedback.now;
            if (what == Told::mean)
                mtr_ = averaged(mtr_, estimate);
            else
                smooth(estimate, degree);
        }
    }
    if (mtr_ > 0.0) mtr_ = std::max(mtr_, most);
}

void UdtxMtr::deliver(Instant now, const DeliverySample& sample) {
    const double rate = sample.rate.bytes_per_second();
    const bool whole = delivery_ <= 0.0 || to_seconds(sample.interval) >= to_seconds(kSynInterval);
    // A sample spans a round trip, but one comes with each ACK.
    delivery_ +=
        (whole ? 1.0 : std::min(1.0, to_seconds(now - updated_) / to_seconds(kSynInterval))) * (rate - delivery_);
    deliveries_.add(now, delivery_);
    recent_.add(now, rate);
}

void UdtxMtr::count(const CongestionFeedback& feedback) {
    const double time = std::max(kUdtx.settle_time, kUdtx.effect_rtts * to_seconds(feedback.smoothed_rtt));
    const double passed = std::max(0.0, to_seconds(feedback.now - updated_));
    usual_ = usual_ * std::exp(-passed / time) + static_cast<double>(feedback.acked_bytes) / time;
}

// All estimates are equally good, so the mean of the times per byte counts.
double UdtxMtr::averaged(double mean, double estimate) {
    const double time = 1.0 / mean;
    return 1.0 / (time + kUdtx.average * (1.0 / std::max(estimate, kUdtx.least_part * mean) - time));
}

void UdtxMtr::smooth(double estimate, double degree) {
    double weight = kUdtx.slow;
    if (estimate < mtr_)
        weight = degree < kUdtx.degree_slow ? kUdtx.slow : degree <= kUdtx.degree_fast ? kUdtx.fast : 1.0;
    mtr_ += weight * (estimate - mtr_);
}

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
    if (roughness.doubtful() && full_ && *full_ < kUdtx.least_rough_full) full_.reset();
    highest_ = above_base(highs_.value(feedback.now)).value_or(0.0);

    const double dt = updated_ ? to_seconds(feedback.now - *updated_) : 0.0;
    updated_ = feedback.now;
    const double tau = std::max(kUdtx.smoothing_rtts * base_rtt_, 1e-3);
    smoothed_ += (1.0 - std::exp(-dt / tau)) * (queue_ - smoothed_);
}

void UdtxDelay::take_return_delay(const CongestionFeedback& feedback) {
    if (!feedback.rtt_sample || !feedback.one_way_delay) return;
    const double there = to_seconds(*feedback.one_way_delay - *base_);
    // A peer that stood still is not a queue: a wait counts as at most one round trip.
    const double waited = std::clamp(to_seconds(*feedback.rtt_sample) - base_rtt_ - there, 0.0, base_rtt_);
    way_back_ += kUdtx.return_weight * (waited - way_back_);
}

double UdtxDelay::dead_zone(double packet_time) { return std::max(kUdtx.dead_zone, kUdtx.dead_packets * packet_time); }

double UdtxDelay::long_queue(double packet_time) const {
    return std::max({kUdtx.long_part * highest(), dead_zone(packet_time), noise()});
}

void UdtxDelay::take_arrivals(const CongestionFeedback& feedback, double packet_time, const UdtxRoughness& roughness) {
    const ArrivalSample& newest = feedback.arrivals.back();
    const Instant newest_time = newest.sent + newest.delay;
    const Duration window = from_seconds(std::max(kUdtx.newest, 3.0 * packet_time));
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
    base_.reset();
    queue_ = smoothed_ = highest_ = way_back_ = 0.0;
}

double UdtxShare::least_half_delay(double packet_time) {
    return std::max(kUdtx.min_half_delay, kUdtx.half_delay_packets * packet_time);
}

double UdtxShare::half_delay(double base_rtt) { return kUdtx.half_delay + kUdtx.half_delay_per_rtt * base_rtt; }

void UdtxShare::follow(const Now& now) {
    // A lower base means that the queue was longer all the time.
    mean_ = mean_ ? std::max(0.0, *mean_ + to_seconds(base_ - now.base)) : now.queue;
    base_ = now.base;
    *mean_ += std::min(1.0, now.dt / (kUdtx.mean_rtts * now.rtt)) * (now.queue - *mean_);
    if (now.queue < kUdtx.empty * now.half_delay)
        *mean_ += std::min(1.0, now.dt / (kUdtx.empty_rtts * now.rtt)) * (now.queue - *mean_);
}

void UdtxShare::update(const Now& now) {
    follow(now);
    const double loop_time = now.rtt + now.interval;
    const auto beta = [&](double gain, double queue) {
        gain *= std::clamp(queue / now.half_delay, kUdtx.least_gain, 1.0);
        return std::min(kUdtx.max_beta, gain * now.half_delay / (loop_time * std::numbers::ln2));
    };
    const double common = beta(kUdtx.loop_gain, now.queue);
    beta_ = !now.two_speeds ? common : std::max(common, beta(kUdtx.settle_gain, std::max(now.queue, *mean_)));
    const double queue = *mean_ + common / beta_ * (now.queue - *mean_);
    double loss = now.loss;
    if (now.full)
        loss *= std::clamp(
            (now.queue / *now.full - kUdtx.loss_faded_at) / (kUdtx.loss_fades_from - kUdtx.loss_faded_at), 0.0, 1.0);
    share_ = std::exp2(-queue / now.half_delay - std::min(loss, kUdtx.much_loss) / kUdtx.half_loss);
}

UdtxLoss::Counts UdtxLoss::count(const CongestionFeedback& feedback, const UdtxDelay& delay, double long_queue) {
    double high_share = delay.queue() >= long_queue ? 1.0 : 0.0;
    if (!feedback.arrivals.empty()) {
        // As for lost packets, the longer delay of two samples counts for the packets between them.
        const auto high =
            std::count_if(feedback.arrivals.begin(), feedback.arrivals.end(), [&](const ArrivalSample& s) {
                return delay.queue_around(std::max<PacketNumber>(s.number, 1) - 1) >= long_queue;
            });
        high_share = static_cast<double>(high) / static_cast<double>(feedback.arrivals.size());
    }
    Counts counts{.high = high_share * feedback.acked_packets, .low = (1.0 - high_share) * feedback.acked_packets};
    for (const CongestionLost& lost : feedback.lost) {
        const bool high = lost.marked || delay.queue_around(lost.number) >= long_queue;
        (high ? counts.high : counts.low) += 1.0;
        (high ? counts.high_lost : counts.low_lost) += 1.0;
    }
    return counts;
}

void UdtxLoss::on_feedback(Instant now, const Counts& counts, double rtt) {
    const double dt = updated_ ? std::max(0.0, to_seconds(now - *updated_)) : 0.0;
    updated_ = now;
    const double keep = std::exp(-dt / kUdtx.memory);
    seen_.high = seen_.high * keep + counts.high;
    seen_.high_lost = seen_.high_lost * keep + counts.high_lost;
    seen_.low = seen_.low * keep + counts.low;
    seen_.low_lost = seen_.low_lost * keep + counts.low_lost;
    // Without packets at short delays, the known random loss decays.
    random_ = seen_.low > kUdtx.enough ? seen_.low_lost / seen_.low : random_ * keep;

    double sample = 0.0;
    if (seen_.high > kUdtx.enough) {
        const double ratio = seen_.high_lost / seen_.high;
        const double deviation = std::sqrt(std::max(random_, 1.0 / seen_.high) / seen_.high);
        const double excess = std::max(0.0, ratio - random_ - 2.0 * deviation);
        sample = excess * seen_.high / (seen_.high + seen_.low);
    }
    congestion_ += (1.0 - std::exp(-dt / (kUdtx.effect_rtts * std::max(rtt, 1e-3)))) * (sample - congestion_);
}

void UdtxLoss::assume_random(double random) {
    seen_.low = seen_.low_lost = 0.0;
    random_ = random;
}

double UdtxLoss::total() const noexcept {
    const double all = seen_.high + seen_.low;
    return all > kUdtx.enough ? (seen_.high_lost + seen_.low_lost) / all : 0.0;
}

void UdtxEnds::on_feedback(const CongestionFeedback& feedback, const UdtxLoss::Counts& counts) {
    packets_ += counts.low;
    lost_ += counts.low_lost;
    if (feedback.now - judged_ < std::max(kSynInterval, feedback.smoothed_rtt) || packets_ <= 0.0) return;
    const double usual = kUdtx.usual_loss * packets_;
    if (lost_ > usual + kUdtx.deviations * std::sqrt(usual)) {
        fit_ = std::max(fit_ * kUdtx.less, kUdtx.least_fit);
    } else if (!feedback.application_limited) {
        fit_ = std::min(fit_ * kUdtx.more, 1.0);
    }
    judged_ = feedback.now;
    packets_ = lost_ = 0.0;
}

namespace {

// A trial looks for the cause of losses. The cause of marks is known.
double lost_packets(const CongestionFeedback& feedback) {
    return static_cast<double>(std::ranges::count(feedback.lost, false, &CongestionLost::marked));
}

}  // namespace

bool UdtxTrial::due(const CongestionFeedback& feedback, double loss) {
    const Instant now = feedback.now;
    const double keep = std::exp2(-std::max(0.0, to_seconds(now - updated_)) / kUdtx.recent);
    updated_ = now;
    const double lost = lost_packets(feedback);
    recent_lost_ = keep * recent_lost_ + lost;
    recent_packets_ = keep * recent_packets_ + feedback.acked_packets + lost;
    if (loss < kUdtx.some_loss || !next_) {
        next_ = now + from_seconds(kUdtx.first_pause);
        pause_ = 4.0 * kUdtx.first_pause;
    }
    // A burst of losses that is over does not belong to the present loss.
    if (now < *next_ || recent_lost_ < kUdtx.fewer * loss * recent_packets_) return false;
    started_ = now;
    raised_.reset();
    before_ = loss;
    lost_ = packets_ = 0.0;
    return true;
}

UdtxTrial::Verdict UdtxTrial::on_feedback(const CongestionFeedback& feedback, double rtt) {
    const Instant now = feedback.now;
    const double since = to_seconds(now - started_);
    const bool told = packets_ >= kUdtx.few_packets;
    if (!raised_ && since > rtt + kUdtx.trial_time && told) raised_ = now;
    // ACKs for packets at the lower rate come between one RTT and the end of the trial. Losses are declared a bit
    // later.
    if (since > 1.25 * rtt) {
        const double lost = lost_packets(feedback);
        lost_ += lost;
        packets_ += feedback.acked_packets + lost;
    }
    if (!raised_ || to_seconds(now - *raised_) < rtt) return Verdict::none;
    next_ = now + from_seconds(pause_);
    // The difference must be two standard deviations: noise must not give a verdict.
    const bool fewer =
        packets_ >= kUdtx.few_packets && lost_ + 2.0 * std::sqrt(lost_) < kUdtx.fewer * before_ * packets_;
    borne_ = fewer || lost_ <= kUdtx.as_many * before_ * packets_ ? 0.0 : kUdtx.borne * before_;
    pause_ = fewer ? 4.0 * kUdtx.first_pause : std::min(2.0 * pause_, kUdtx.longest_pause);
    return fewer ? Verdict::congestion : Verdict::random;
}

}  // namespace udtx::congestion
