#include "congestion/udtx/share.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

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

}  // namespace udtx::congestion
