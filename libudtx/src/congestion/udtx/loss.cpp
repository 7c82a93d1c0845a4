#include "congestion/udtx/loss.hpp"

#include <algorithm>
#include <cmath>

#include "congestion/udtx/delay.hpp"

namespace udtx::congestion {

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

}  // namespace udtx::congestion
