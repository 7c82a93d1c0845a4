#include "proto/stream_watch.hpp"

#include <algorithm>

namespace udtx::proto {

using multipath::RecordRef;
using recovery::SentPacket;
using recovery::SentRange;

StreamWatch::Watched* StreamWatch::find(StreamId id) {
    const auto found = std::ranges::find_if(streams_, [id](const auto& s) { return s->id == id; });
    return found == streams_.end() ? nullptr : found->get();
}

void StreamWatch::on_sent(Instant now, PathId path, Duration smoothed_rtt, SentPacket& packet) {
    for (std::size_t i = 0; i < packet.range_count; ++i) {
        SentRange& r = packet.ranges[i];
        if (r.crypto || r.recorded) continue;  // recorded ranges are copies
        if (r.copy) {
            budget_.on_probe(r.length);
            continue;
        }
        if (!r.again) budget_.on_new_bytes(r.length);
        if (r.length == 0) continue;
        Watched* s = find(r.stream);
        if (s == nullptr) s = streams_.emplace_back(std::make_unique<Watched>(r.stream, budget_)).get();
        const RecordRef ref = s->record.on_assigned(now, path, {r.offset, r.offset + r.length}, r.again, smoothed_rtt);
        r.recorded = true;
        r.record_path = path;
        r.record = ref.number;
    }
}

void StreamWatch::on_acked(const SentPacket& packet, const StreamTable& streams) {
    for (std::size_t i = 0; i < packet.range_count; ++i) {
        const SentRange& r = packet.ranges[i];
        Watched* s = r.recorded ? find(r.stream) : nullptr;
        if (s == nullptr) continue;
        // A copy may have carried only a part of the bytes.
        const RecordRef ref{r.record_path, r.again, r.record};
        if (const auto range = s->record.range_of(ref); range && streams.arrived(r.stream, *range)) {
            s->record.on_acked(ref);
        }
        if (r.stream.kind() == StreamKind::ordered) s->record.on_data_acked(streams.acked_below(r.stream));
    }
}

// If a copy is lost, the entry still waits for its original.
void StreamWatch::on_lost(const SentPacket& packet) {
    for (std::size_t i = 0; i < packet.range_count; ++i) {
        const SentRange& r = packet.ranges[i];
        if (!r.recorded || r.copy) continue;
        if (Watched* s = find(r.stream)) s->record.on_lost({r.record_path, r.again, r.record});
    }
}

bool StreamWatch::due(Instant now) const {
    return std::ranges::any_of(streams_, [now](const auto& s) { return now >= s->reinjector.not_before(); });
}

std::optional<StreamWatch::Copy> StreamWatch::next(Instant now, const StreamTable& streams,
                                                   std::span<const PathView> paths) {
    std::erase_if(streams_, [&streams](const auto& s) { return !streams.sends(s->id); });
    for (const auto& s : streams_) {
        if (now < s->reinjector.not_before()) continue;
        const auto demand = streams.demand(s->id);
        if (s->id.kind() == StreamKind::ordered && now - s->monitored >= kMonitorInterval) {
            s->monitored = now;
            s->monitor.update(now, demand.highest() - demand.data_acked, s->record, paths);
        }
        const auto what = s->reinjector.next(now, demand, s->record, s->monitor.culprit(), paths);
        if (what) return Copy{s->id, *what};
    }
    return std::nullopt;
}

void StreamWatch::on_copied(Instant now, const Copy& copy) {
    if (Watched* s = find(copy.stream)) {
        s->record.on_copied(now, copy.what.entry, copy.done);
        s->reinjector.on_sent(copy.what, copy.done);
    }
    reinjected_[copy.what.path] += copy.done - copy.what.range.begin;
}

std::optional<Instant> StreamWatch::wakeup() const {
    std::optional<Instant> first;
    for (const auto& s : streams_) {
        const auto at = s->reinjector.wakeup();
        if (at && (!first || *at < *first)) first = at;
    }
    return first;
}

std::uint64_t StreamWatch::reinjected(PathId path) const {
    const std::uint64_t* bytes = reinjected_.find(path);
    return bytes == nullptr ? 0 : *bytes;
}

double StreamWatch::transmit_times(PathId path) const {
    double most = 0.0;
    for (const auto& s : streams_) most = std::max(most, s->monitor.transmit_times(path));
    return most;
}

}  // namespace udtx::proto
