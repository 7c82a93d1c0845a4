#include "recovery/stretch_acks.hpp"

#include <algorithm>
#include <utility>

namespace udtx::recovery {

StretchAcks::Acked StretchAcks::on_ack(Instant now, PacketNumber largest, Acked acked, bool stretched) {
    const Acked told = std::exchange(kept_, Acked{});
    const Acked whole = {.bytes = told.bytes + acked.bytes, .packets = told.packets + acked.packets};
    if (acked.packets == 0 || (newest_ && largest <= *newest_)) return whole;
    newest_ = largest;
    const AckRegenerator::Series series = regenerator_.on_ack(now, largest + 1);
    if (!stretched || series.acks.size() < 2 || acked.packets < 2) return whole;
    all_ = kept_ = acked;
    from_ = now;
    // Some numbers belong to packets that do not count against the window. The total time stays the same.
    spacing_ = series.spacing * static_cast<std::int64_t>(series.acks.size()) / acked.packets;
    const Acked first = take_due(now);
    return {.bytes = told.bytes + first.bytes, .packets = told.packets + first.packets};
}

std::optional<Instant> StretchAcks::deadline() const {
    if (kept_.packets == 0) return std::nullopt;
    return std::min(told_ + std::max(spacing_, kStep), from_ + spacing_ * static_cast<std::int64_t>(all_.packets - 1));
}

StretchAcks::Acked StretchAcks::take_due(Instant now) {
    if (kept_.packets == 0) return {};
    told_ = now;
    const auto due = spacing_ > Duration::zero() ? 1 + (now - from_) / spacing_ : std::int64_t{all_.packets};
    const auto packets = static_cast<std::uint32_t>(std::min<std::int64_t>(due, all_.packets));
    const Acked before = {.bytes = all_.bytes - kept_.bytes, .packets = all_.packets - kept_.packets};
    const std::uint64_t bytes = all_.bytes * packets / all_.packets;
    kept_ = {.bytes = all_.bytes - bytes, .packets = all_.packets - packets};
    return {.bytes = bytes - before.bytes, .packets = packets - before.packets};
}

}  // namespace udtx::recovery
