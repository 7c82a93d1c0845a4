#include "congestion/udtx/jitter.hpp"

#include <algorithm>

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
    count(feedback.now, longest_clump(feedback, line));
    const double usual = usual_clump();
    // Clump ends are off a straight line (probing/train_meter.hpp).
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
double UdtxJitter::longest_clump(const CongestionFeedback& feedback, double line) {
    const double packet_time = static_cast<double>(feedback.acked_bytes) / feedback.acked_packets / (kFaster * line);
    double longest = 0.0;
    for (const ArrivalSample& sample : feedback.arrivals) {
        if (previous_ && sample.number <= previous_->number) continue;
        if (previous_) {
            const double came = to_seconds(sample.sent + sample.delay - previous_->sent - previous_->delay);
            clump_ = std::max(0.0, clump_ + packets_between(feedback, sample.number) * packet_time - came);
            longest = std::max(longest, clump_);
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

void UdtxJitter::count(Instant now, double clump) {
    const std::int64_t span = now.time_since_epoch() / kSpan;
    for (std::int64_t passed = std::max(span_ + 1, span - static_cast<std::int64_t>(kSpans) + 1); passed <= span;
         ++passed)
        clumps_[static_cast<std::size_t>(passed) % kSpans] = 0.0;
    span_ = span;
    double& longest = clumps_[static_cast<std::size_t>(span) % kSpans];
    longest = std::max(longest, clump);
}

// Uses several spans, so that a receiver that stood still once does not count as jitter.
double UdtxJitter::usual_clump() const {
    std::array<double, kSpans> sorted = clumps_;
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

}  // namespace udtx::congestion
