#include "congestion/udtx/loss.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "congestion/udtx/delay.hpp"

namespace udtx::congestion {

namespace {
constexpr double kHalfDelay = 4e-3;        // s, on a short path
constexpr double kHalfDelayPerRtt = 0.03;  // more on a long path, where shares would else need too many round trips
constexpr double kLoopGain = 0.6;          // part of an excess of all flows that one loop time removes
constexpr double kSettleGain = 2.7;        // the same for a difference between flows, in the same unit
constexpr double kLeastGain = 0.2;         // of both gains, at a small queue
constexpr double kMaxBeta = 0.25;          // of the distance to the target, per round trip
constexpr double kMeanRtts = 10.0;         // time constant of the mean queue
constexpr double kEmptyRtts = 4.0;         // a second time constant while the queue is empty: others have gone
constexpr double kEmpty = 0.25;            // of q_h
constexpr double kHalfLoss = 0.02;         // P_h: congestion loss that halves the share
constexpr double kMostLoss = 0.04;         // counts at most: more, in few packets of each flow, is chance
constexpr double kLossFadesFrom = 0.75;    // of the full queue: above, loss counts in full
constexpr double kLossFadedAt = 0.25;      // of the full queue: below, loss does not count
}  // namespace

double UdtxShare::half_delay(double base_rtt) { return kHalfDelay + kHalfDelayPerRtt * base_rtt; }

void UdtxShare::follow(const Now& now) {
    // A lower base means that the queue was longer all the time.
    mean_ = mean_ ? std::max(0.0, *mean_ + to_seconds(base_ - now.base)) : now.queue;
    base_ = now.base;
    *mean_ += std::min(1.0, now.dt / (kMeanRtts * now.rtt)) * (now.queue - *mean_);
    if (now.queue < kEmpty * now.half_delay)
        *mean_ += std::min(1.0, now.dt / (kEmptyRtts * now.rtt)) * (now.queue - *mean_);
}

void UdtxShare::update(const Now& now) {
    follow(now);
    const double loop_time = now.rtt + now.interval;
    const auto beta = [&](double gain, double queue) {
        gain *= std::clamp(queue / now.half_delay, kLeastGain, 1.0);
        return std::min(kMaxBeta, gain * now.half_delay / (loop_time * std::numbers::ln2));
    };
    const double common = beta(kLoopGain, now.queue);
    beta_ = !now.two_speeds ? common : std::max(common, beta(kSettleGain, std::max(now.queue, *mean_)));
    const double queue = *mean_ + common / beta_ * (now.queue - *mean_);
    double loss = now.loss;
    if (now.full)
        loss *= std::clamp((now.queue / *now.full - kLossFadedAt) / (kLossFadesFrom - kLossFadedAt), 0.0, 1.0);
    share_ = std::exp2(-queue / now.half_delay - std::min(loss, kMostLoss) / kHalfLoss);
}

namespace {
constexpr double kMemory = 2.0;         // s, time constant of the counts
constexpr double kEnough = 30.0;        // packets in a class before its ratio counts
constexpr double kSmoothingRtts = 2.0;  // p_c
}  // namespace

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
        const bool high = delay.queue_around(lost.number) >= long_queue;
        (high ? counts.high : counts.low) += 1.0;
        (high ? counts.high_lost : counts.low_lost) += 1.0;
    }
    return counts;
}

void UdtxLoss::on_feedback(Instant now, const Counts& counts, double rtt) {
    const double dt = updated_ ? std::max(0.0, to_seconds(now - *updated_)) : 0.0;
    updated_ = now;
    const double keep = std::exp(-dt / kMemory);
    seen_.high = seen_.high * keep + counts.high;
    seen_.high_lost = seen_.high_lost * keep + counts.high_lost;
    seen_.low = seen_.low * keep + counts.low;
    seen_.low_lost = seen_.low_lost * keep + counts.low_lost;
    // Without packets at short delays, the known random loss decays.
    random_ = seen_.low > kEnough ? seen_.low_lost / seen_.low : random_ * keep;

    double sample = 0.0;
    if (seen_.high > kEnough) {
        const double ratio = seen_.high_lost / seen_.high;
        const double deviation = std::sqrt(std::max(random_, 1.0 / seen_.high) / seen_.high);
        const double excess = std::max(0.0, ratio - random_ - 2.0 * deviation);
        sample = excess * seen_.high / (seen_.high + seen_.low);
    }
    congestion_ += (1.0 - std::exp(-dt / (kSmoothingRtts * std::max(rtt, 1e-3)))) * (sample - congestion_);
}

void UdtxLoss::assume_random(double random) {
    seen_.low = seen_.low_lost = 0.0;
    random_ = random;
}

double UdtxLoss::total() const noexcept {
    const double all = seen_.high + seen_.low;
    return all > kEnough ? (seen_.high_lost + seen_.low_lost) / all : 0.0;
}

namespace {

constexpr double kUsualLoss = 0.005;  // of the packets of a round trip or SYN: more means that a socket was full
constexpr double kDeviations = 2.0;   // standard deviations by which the loss must exceed that
constexpr double kLess = 0.7;
constexpr double kMore = 1.01;
constexpr double kLeast = 1.0 / 32.0;

}  // namespace

void UdtxEnds::on_feedback(const CongestionFeedback& feedback, const UdtxLoss::Counts& counts) {
    packets_ += counts.low;
    lost_ += counts.low_lost;
    if (feedback.now - judged_ < std::max(kSynInterval, feedback.smoothed_rtt) || packets_ <= 0.0) return;
    const double usual = kUsualLoss * packets_;
    if (lost_ > usual + kDeviations * std::sqrt(usual)) {
        fit_ = std::max(fit_ * kLess, kLeast);
    } else if (!feedback.application_limited) {
        fit_ = std::min(fit_ * kMore, 1.0);
    }
    judged_ = feedback.now;
    packets_ = lost_ = 0.0;
}

namespace {
constexpr double kWorthwhile = 0.02;  // less loss is not worth a trial
constexpr double kLength = 0.2;       // s of lowered rate, in addition to one RTT
constexpr double kMostLength = 2.0;   // s of that if few packets leave
constexpr double kFewer = 0.65;       // of the loss before: it was congestion
constexpr double kAsMany = 0.9;       // of the loss before: the lower rate changed nothing
constexpr double kStillAsMany = 0.8;  // the same, if an earlier trial said so, too
constexpr double kBorne = 1.3;        // of a loss found random: up to here it is still the same
constexpr double kHalfLife = 0.25;    // s, of the counts of recent packets
constexpr double kFewPackets = 100.0;
constexpr double kFirstPause = 1.0;     // s
constexpr double kLongestPause = 32.0;  // s
}  // namespace

UdtxTrial::Verdict UdtxTrial::on_feedback(const CongestionFeedback& feedback, double loss, double rtt) {
    const Instant now = feedback.now;
    count(feedback);
    if (!started_) {
        if (loss < kWorthwhile || !next_) {
            next_ = now + from_seconds(kFirstPause);
            pause_ = 4.0 * kFirstPause;
        }
        // A burst of losses that is over does not belong to the present loss.
        if (now < *next_ || recent_lost_ < kFewer * loss * recent_packets_) return Verdict::none;
        started_ = now;
        lowered_ = true;
        before_ = loss;
        lost_ = packets_ = 0.0;
        return Verdict::none;
    }
    const double since = to_seconds(now - *started_);
    const bool told = packets_ >= kFewPackets || since > rtt + kMostLength;
    if (lowered_ && since > rtt + kLength && told) {
        lowered_ = false;
        raised_ = now;
    }
    // ACKs for packets at the lower rate come between one RTT and the end of the trial. Losses are declared a bit
    // later.
    if (since > 1.25 * rtt) {
        lost_ += static_cast<double>(feedback.lost.size());
        packets_ += static_cast<double>(feedback.acked_packets + feedback.lost.size());
    }
    if (lowered_ || to_seconds(now - raised_) < rtt) return Verdict::none;
    started_.reset();
    lowered_ = false;
    next_ = now + from_seconds(pause_);
    if (packets_ < kFewPackets) return Verdict::none;
    // The difference must be two standard deviations: noise must not give a verdict.
    if (lost_ + 2.0 * std::sqrt(lost_) < kFewer * before_ * packets_) {
        pause_ = 4.0 * kFirstPause;
        borne_ = 0.0;
        return Verdict::congestion;
    }
    // One of many flows hardly changes a loss that all cause together: it falls only a little.
    const double as_many = before_ <= borne_ ? kStillAsMany : kAsMany;
    borne_ = lost_ > as_many * before_ * packets_ ? kBorne * before_ : 0.0;
    if (borne_ > 0.0) pause_ = std::min(2.0 * pause_, kLongestPause);
    return Verdict::random;
}

void UdtxTrial::count(const CongestionFeedback& feedback) {
    const double keep = std::exp2(-std::max(0.0, to_seconds(feedback.now - updated_)) / kHalfLife);
    updated_ = feedback.now;
    const auto lost = static_cast<double>(feedback.lost.size());
    recent_lost_ = keep * recent_lost_ + lost;
    recent_packets_ = keep * recent_packets_ + feedback.acked_packets + lost;
}

void UdtxTrial::abandon() {
    started_.reset();
    next_.reset();
    lowered_ = false;
}

}  // namespace udtx::congestion
