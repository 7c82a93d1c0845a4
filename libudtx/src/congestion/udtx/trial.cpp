#include "congestion/udtx/trial.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

namespace {
constexpr double kWorthwhile = 0.02;  // less loss is not worth a trial
constexpr double kLength = 0.2;       // s of lowered rate, beside one RTT
constexpr double kFewer = 0.65;       // of the loss before: it was congestion
constexpr double kFewPackets = 100.0;
constexpr double kFirstPause = 1.0;     // s
constexpr double kLongestPause = 32.0;  // s
}  // namespace

UdtxTrial::Verdict UdtxTrial::on_feedback(const CongestionFeedback& feedback, double loss, double rtt) {
    const Instant now = feedback.now;
    if (!started_) {
        if (loss < kWorthwhile || !next_) {
            next_ = now + from_seconds(kFirstPause);
            pause_ = 4.0 * kFirstPause;
        }
        if (now < *next_) return Verdict::none;
        started_ = now;
        lowered_ = true;
        before_ = loss;
        lost_ = packets_ = 0.0;
        return Verdict::none;
    }
    const double since = to_seconds(now - *started_);
    if (since > rtt + kLength) lowered_ = false;
    // What was sent at the lower rate is acknowledged between one RTT and the end of it, or declared lost a bit later.
    if (since > 1.25 * rtt) {
        lost_ += static_cast<double>(feedback.lost.size());
        packets_ += static_cast<double>(feedback.acked_packets + feedback.lost.size());
    }
    if (since < 2.0 * rtt + kLength) return Verdict::none;
    started_.reset();
    lowered_ = false;
    next_ = now + from_seconds(pause_);
    if (packets_ < kFewPackets) return Verdict::none;
    // By two standard deviations, or noise would be taken for a verdict.
    if (lost_ + 2.0 * std::sqrt(lost_) < kFewer * before_ * packets_) {
        pause_ = 4.0 * kFirstPause;
        return Verdict::congestion;
    }
    pause_ = std::min(2.0 * pause_, kLongestPause);
    return Verdict::random;
}

void UdtxTrial::abandon() {
    started_.reset();
    next_.reset();
    lowered_ = false;
}

}  // namespace udtx::congestion
