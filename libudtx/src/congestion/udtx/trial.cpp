#include "congestion/udtx/trial.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::congestion {

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
