#include "probing/probe_schedule.hpp"

#include <algorithm>

namespace udtx::probing {

bool ProbeSchedule::train_due(Instant now, const Bounds& bounds) const {
    if (bounds.wanted <= kPairPackets || (last_train_ && now - *last_train_ < kTrainSpacing)) return false;
    return bounds.cap.bytes_in(kTrainTimeAtCap) >= double{kUsualTrainPackets} * bounds.datagram_bytes;
}

std::uint32_t ProbeSchedule::packets(Instant now, PacketNumber number, const Bounds& bounds) const {
    const bool train = train_due(now, bounds);
    const bool opens = number % kProbeEvery == 0 || (train && !last_train_);
    if (!opens) return 0;
    if (!train) return kPairPackets;
    const double fit = bounds.cap.bytes_in(kTrainTimeAtCap) / static_cast<double>(bounds.datagram_bytes);
    return std::min(bounds.wanted, static_cast<std::uint32_t>(std::min(fit, double{kMostTrainPackets})));
}

void ProbeSchedule::on_left(Instant now, const Packet& packet, bool more) {
    if (packet.size > 0 && packet.first) departures_.on_first(now);
    if (packet.size > 0 && !packet.first) departures_.on_next(now, static_cast<std::uint32_t>(packet.size));
    const bool whole = packet.size == packet.planned;
    if (packet.first && whole) {  // a smaller packet opened no probe
        last_probe_ = now;
        if (left_ >= kPairPackets) last_train_ = now;
    }
    if (!whole || !more) left_ = 0;
    if (left_ == 0) departures_.finish();
}

}  // namespace udtx::probing
