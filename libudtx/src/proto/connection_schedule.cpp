// Chooses the path of the next datagram. Frames that belong to a path leave on it, credit and similar frames on the
// best path, and stream bytes where the scheduler says.
#include <algorithm>

#include "proto/connection_impl.hpp"

namespace udtx::proto {

namespace {

/// A cap includes the headers of IP and UDP. This is the rate of UDP payload that it leaves.
Rate payload_of(Rate cap, const PathContext& p) {
    if (cap.is_infinite()) return cap;
    const double headers = p.remote.family == Address::Family::v6 ? 48.0 : 28.0;
    const double datagram = p.mtu.current();
    return cap * (datagram / (datagram + headers));
}

}  // namespace

std::uint64_t Connection::Impl::budget(Instant now, PathContext& p) {
    const auto datagram = p.mtu.current();
    const Rate cap = payload_of(max_rate_, p);
    p.pacer.set_rate(now, std::min(p.congestion->pacing_rate(), cap), datagram);
    const std::uint64_t own = p.pacer.budget(now);
    if (paths_.single()) return own;
    // The credit of the cap's pacer can hold a datagram of any path. Otherwise a path with large datagrams would never
    // get its turn.
    std::uint32_t largest = datagram;
    for (const auto& path : paths_.all()) largest = std::max(largest, path->mtu.current());
    total_.set_rate(now, cap, largest);
    return std::min(own, total_.budget(now));
}

bool Connection::Impl::has_room(Instant now, PathContext& p) {
    const std::uint64_t datagram = p.mtu.current();
    return p.state == PathState::active && p.in_flight() + datagram <= p.congestion->window() &&
           datagram <= budget(now, p);
}

void Connection::Impl::view_paths(Instant now) {
    const bool heard = std::ranges::any_of(
        paths_.all(), [](const auto& p) { return p->state == PathState::active && !p->peer_suspended; });
    views_.clear();
    for (const auto& p : paths_.all()) {
        PathView& v = views_.emplace_back();
        v.id = p->id;
        v.usable = p->state == PathState::active && (!p->peer_suspended || !heard);
        if (!v.usable) {
            v.may_send = false;
            continue;
        }
        v.may_send = has_room(now, *p);
        v.departure = p->pacer.next_departure(now).value_or(now);
        v.window = p->congestion->window();
        v.in_flight = p->in_flight();
        v.rate = std::min(p->congestion->pacing_rate(), max_rate_);
        if (p->recovery.rtt().has_sample()) {
            v.smoothed_rtt = p->recovery.rtt().smoothed();
            v.min_rtt = p->recovery.rtt().minimum();
        }
        v.datagram_bytes = p->mtu.current();
        v.weight = p->options.weight;
        v.standby = p->options.standby;
        v.unsteady = now < p->steady_from;
    }
}

PathContext* Connection::Impl::best_with_room(Instant now) {
    PathContext& best = paths_.best();
    if (has_room(now, best)) return &best;
    for (const auto& p : paths_.all()) {
        if (PathSet::works(*p) && has_room(now, *p)) return p.get();
    }
    return nullptr;
}

std::optional<PathPick> Connection::Impl::choose(Instant now) {
    const auto demand = streams_.demand();
    if (!demand) return std::nullopt;
    view_paths(now);
    return scheduler_->pick(now, *demand, views_);
}

/// Picks again, for one more datagram in the batch of this path.
std::optional<PathPick> Connection::Impl::choose_again(Instant now, const PathContext& p) {
    auto pick = choose(now);
    if (pick && (pick->path != p.id || pick->duplicate)) pick.reset();
    return pick;
}

/// Sends what is bound to this path: ACKs, probes, and answers to the peer's.
std::optional<Transmit> Connection::Impl::transmit_bound(Instant now, PathContext& p, std::span<std::byte> out) {
    const bool bound = p.acks.due(now) || p.probes > 0 || p.response_due || p.ping_due;
    if (!bound) return std::nullopt;
    return transmit_data(now, p, {.shared = false, .data = false}, 1, out);
}

std::optional<Transmit> Connection::Impl::transmit_several(Instant now, std::size_t max_segments,
                                                           std::span<std::byte> out) {
    for (const auto& p : paths_.all()) {
        // Nothing may be sent between the packets of a pair. They all take bytes from the offset of the first one on:
        // bytes at the head of the stream, which they would hold up, are for faster paths.
        if (!p->line_probes.under_way() || !streams_.data_pending()) continue;
        const PathPick pick{.path = p->id, .from = p->line_probes.from()};
        if (auto t = transmit_data(now, *p, {.shared = false, .pick = pick}, 1, out)) return t;
    }
    for (const auto& p : paths_.all()) {
        auto t = transmit_challenge(now, *p, out);
        if (!t && p->state == PathState::active) t = transmit_mtu_probe(now, *p, out);
        if (!t && p->state != PathState::probing) t = transmit_bound(now, *p, out);
        if (t) return t;
    }
    if (shared_pending() || streams_.control_pending()) {
        if (PathContext* p = best_with_room(now)) {
            if (auto t = transmit_data(now, *p, {.data = false}, 1, out)) return t;
        }
    }
    if (watching() && watch_.due(now)) {
        if (auto t = transmit_late(now, out)) return t;
    }
    auto pick = choose(now);
    note_blocked(now);
    if (pick) {
        PathContext& p = *paths_.find(pick->path);
        const std::uint64_t before = streams_.counters().bytes_sent + streams_.counters().bytes_resent;
        const std::size_t segments = pick->duplicate ? 1 : max_segments;
        if (auto t = transmit_data(now, p, {.shared = false, .pick = pick}, segments, out)) {
            scheduler_->on_sent(now, *pick, streams_.counters().bytes_sent + streams_.counters().bytes_resent - before);
            return t;
        }
    } else if (streams_.data_pending() && !streams_.demand()) {
        // Only the end of a stream waits, without bytes.
        if (PathContext* p = best_with_room(now)) {
            if (auto t = transmit_data(now, *p, {.shared = false}, 1, out)) return t;
        }
    }
    for (const auto& p : paths_.all()) {
        if (p->state != PathState::active) continue;
        // A path that could send but gets nothing is not limited by its network. Asking for room also updates the
        // pacer's credit. Otherwise departure() would return a time that is over.
        const bool room = has_room(now, *p);
        hold(*p, streams_.data_pending() && !room, false);
    }
    return std::nullopt;
}

// Bytes that have arrived meanwhile are skipped.
std::optional<Transmit> Connection::Impl::transmit_late(Instant now, std::span<std::byte> out) {
    view_paths(now);
    while (auto late = watch_.next(now, streams_, views_)) {
        PathContext& p = *paths_.find(late->what.path);
        const std::size_t size =
            build_packet(now, p, out, {.size = p.mtu.current(), .eliciting = true, .late = &*late});
        watch_.on_copied(now, *late);
        if (size > 0) return transmit_of(p, size, size);
    }
    return std::nullopt;
}

void Connection::Impl::note_blocked(Instant now) {
    for (const auto& p : paths_.all()) {
        const bool blocked =
            p->state == PathState::suspended || (p->state == PathState::active && scheduler_->blocked(p->id));
        if (p->blocked_since) p->blocked += now - *p->blocked_since;
        p->blocked_since = blocked ? std::optional(now) : std::nullopt;
    }
}

}  // namespace udtx::proto
