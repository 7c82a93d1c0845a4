#include "congestion/policy.hpp"

#include <algorithm>

namespace udtx::congestion {

namespace {

constexpr std::uint64_t kFloorDatagrams = 16;

}  // namespace

// Packets stay in flight until they are acknowledged or declared lost. That takes 9/8 RTT and a reordering window of up
// to one more RTT.
void RateFloor::on_feedback(const CongestionFeedback& feedback) {
    if (feedback.smoothed_rtt > Duration::zero())
        patience_ = 2 * feedback.smoothed_rtt + 4 * feedback.rtt_variance + 2 * kSynInterval;
    Around::on_feedback(feedback);
}

void RateFloor::on_limits(const PathLimits& limits) {
    datagram_bytes_ = limits.datagram_bytes;
    floor_ = limits.min_rate;
    Around::on_limits(limits);
}

std::uint64_t RateFloor::window() const {
    const auto floor = static_cast<std::uint64_t>(floor_.bytes_in(patience_)) + kFloorDatagrams * datagram_bytes_;
    return std::max(inner_->window(), floor);
}

Rate RateFloor::pacing_rate() const { return std::max(inner_->pacing_rate(), floor_); }

void FixedRate::on_limits(const PathLimits& limits) {
    PathLimits fixed = limits;
    fixed.min_rate = limits.max_rate.is_infinite() ? floor_ : limits.max_rate;
    RateFloor::on_limits(fixed);
}

void SeveralFlows::on_limits(const PathLimits& limits) {
    PathLimits part = limits;
    part.max_rate = limits.max_rate * (1.0 / kFlows);
    Around::on_limits(part);
}

void SeveralFlows::on_sent(const CongestionSent& packet) {
    CongestionSent part = packet;
    part.bytes = std::max(packet.bytes / kFlows, 1U);
    part.in_flight_before = packet.in_flight_before / kFlows;
    inner_->on_sent(part);
}

// Bytes and rates are divided equally. Lost packets stay whole, as a single loss affects only one of the flows.
void SeveralFlows::on_feedback(const CongestionFeedback& feedback) {
    part_ = feedback;
    part_.acked_bytes /= kFlows;
    part_.acked_packets = (part_.acked_packets + kFlows - 1) / kFlows;
    part_.in_flight_before /= kFlows;
    part_.in_flight_after /= kFlows;
    part_.free_window /= kFlows;
    std::erase_if(part_.lost, [](const CongestionLost& lost) { return lost.number % kFlows != 0; });
    if (part_.delivery) part_.delivery->rate = part_.delivery->rate * (1.0 / kFlows);
    if (part_.line) part_.line->arrival_pps /= kFlows;
    inner_->on_feedback(part_);
}

void SeveralFlows::recall(const KnownPath& path, Duration rtt) {
    KnownPath part = path;
    part.capacity = path.capacity * (1.0 / kFlows);
    inner_->recall(part, rtt);
}

std::optional<KnownPath> SeveralFlows::known_path() const {
    auto part = inner_->known_path();
    if (part) part->capacity = part->capacity * kFlows;
    return part;
}

std::unique_ptr<CongestionController> apply_policy(std::unique_ptr<CongestionController> controller,
                                                   const CongestionOptions& options) {
    if (options.policy == Policy::fixed && !options.max_rate.is_infinite())
        return std::make_unique<FixedRate>(std::move(controller), options.max_rate, options.datagram_bytes);
    if (options.policy == Policy::high) controller = std::make_unique<SeveralFlows>(std::move(controller));
    if (options.min_rate.is_zero()) return controller;
    return std::make_unique<RateFloor>(std::move(controller), options.min_rate, options.datagram_bytes);
}

}  // namespace udtx::congestion
