// What a connection sends, and when.
#include <algorithm>
#include <utility>

#include "proto/connection_impl.hpp"
#include "wire/frame.hpp"

namespace udtx::proto {

namespace {
constexpr std::size_t kLeastChallenge = wire::kShortHeaderBytes + 9 + wire::kTagBytes;
constexpr int kTriesUntilTold = 5;  // unanswered challenges before a failure is reported: about 6 s
}  // namespace

std::optional<Transmit> Connection::Impl::poll_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out) {
    unsealed_.reset();
    const std::size_t events = events_.size();
    auto t = next_transmit(now, max_segments, out);
    if (t && unsealed_) {
        t->key = keys_->send_key();
        t->first_number = *unsealed_;
    }
    if (events_.size() > events) touch();
    if (connected()) holds_.enter(now, t ? SendHold::host : hold_cause(now));
    return t;
}

/// The reason why nothing is sent. Call it when nothing leaves.
SendHold Connection::Impl::hold_cause(Instant now) {
    if (!streams_.data_pending()) return streams_.waits_for_credit() ? SendHold::credit : SendHold::application;
    if (max_rate_.is_infinite()) return SendHold::network;
    if (!paths_.single()) {
        return total_.budget(now) < paths_.first().mtu.current() ? SendHold::cap : SendHold::network;
    }
    const PathContext& p = paths_.first();
    const bool window = p.in_flight() + p.mtu.current() > p.congestion->window();
    return !window && p.congestion->pacing_rate() >= max_rate_ ? SendHold::cap : SendHold::network;
}

std::optional<Transmit> Connection::Impl::next_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out) {
    if (drained() || life_ == Life::failing) return std::nullopt;
    if (keys_ && keys_->seal_limit_reached()) {
        // The peer never acknowledged the current key phase, so no key update was possible (RFC 9001, section 6.6).
        end({.code = ErrorCode::protocol, .message = "the key's packet limit was reached without an update"});
        return std::nullopt;
    }
    if (over()) return transmit_close(now, out);
    PathContext& p = paths_.first();
    do {
        const std::size_t size = p.full || candidates_.wait() ? 0 : handshake_.poll(now, out);
        if (size > 0) return transmit_of(p, size, size);
    } while (prepare_next_flight());
    if (!keys_) return std::nullopt;
    if (keys_->sealed_in_phase() >= config_.rekey_after_packets && keys_->can_update()) keys_->initiate_update();
    // The only path that is left may be one that is not validated.
    if (!paths_.single() || p.state == PathState::probing) return transmit_several(now, max_segments, out);
    auto t = transmit_challenge(now, p, out);
    if (!t) t = transmit_mtu_probe(now, p, out);
    if (!t) t = transmit_data(now, p, Cargo{}, max_segments, out);
    return t;
}

Transmit Connection::Impl::transmit_of(const PathContext& p, std::size_t size, std::size_t segment, bool mark) const {
    return Transmit{.local = p.local,
                    .remote = p.remote,
                    .connection = setup_.local,
                    .path = p.id,
                    .interface_index = p.options.interface_index,
                    .size = size,
                    .segment = segment,
                    .ecn = mark ? Ecn::ect0 : Ecn::not_ect};
}

std::optional<Transmit> Connection::Impl::transmit_close(Instant now, std::span<std::byte> out) {
    if (close_sends_ == 0 || now < close_next_) return std::nullopt;
    // Each copy takes another path, because nobody may know which of them still work. An answer is sent once, on the
    // best.
    const bool answer = life_ == Life::answering;
    const auto turn = answer ? 0 : static_cast<std::size_t>(kCloseRepeats - close_sends_) % paths_.count();
    PathContext& best = paths_.best();
    PathContext& in_turn = *paths_.all()[turn];
    PathContext& p = turn == 0 ? best : &in_turn == &best ? *paths_.all().front() : in_turn;
    --close_sends_;
    close_next_ = now + (close_sends_ > 0 ? close_spacing_ : close_linger_);
    std::size_t size = 0;
    if (keys_) {
        const bool unproved = p.state == PathState::probing;
        const std::uint64_t room = unproved ? p.validator.credit() : p.mtu.minimum();
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(room, p.mtu.minimum()));
        size = most < kLeastChallenge
                   ? 0
                   : build_packet(now, p, out, {.size = most, .acks = !unproved, .close = &close_frame_});
        if (unproved) p.validator.on_sent(size);
    } else {
        size = handshake_.make_close(now, out, close_frame_);
    }
    if (answer) life_.enter(Life::drained);
    if (size == 0) return std::nullopt;
    return transmit_of(p, size, size);
}

std::size_t Connection::Impl::challenge_bytes(const PathContext& p) {
    const std::uint32_t most = p.validator.small_next() ? path::MtuSearch::kLeast : p.mtu.minimum();
    return static_cast<std::size_t>(std::min<std::uint64_t>({p.validator.credit(), most, p.mtu.minimum()}));
}

std::optional<Transmit> Connection::Impl::transmit_challenge(Instant now, PathContext& p, std::span<std::byte> out) {
    if (p.full) return std::nullopt;
    if (p.state == PathState::probing) return transmit_probing(now, p, out);
    path::Validator& v = p.validator;
    if (!v.challenge_due(now)) return std::nullopt;
    const std::size_t room = challenge_bytes(p);
    const PacketPlan plan{.size = room, .acks = false, .eliciting = true, .pad = true, .challenge = v.challenge()};
    const std::size_t size = room < kLeastChallenge ? 0 : build_packet(now, p, out, plan);
    v.on_challenge_sent(now, size, probe_interval(p));
    if (size == 0) return std::nullopt;
    Transmit t = transmit_of(p, size, size);
    t.local = v.local();
    t.remote = v.remote();
    return t;
}

/// On an unvalidated path: sends challenges and answers to the peer's, as far as the credit for its bytes allows.
std::optional<Transmit> Connection::Impl::transmit_probing(Instant now, PathContext& p, std::span<std::byte> out) {
    path::Validator& v = p.validator;
    const bool challenge = v.challenge_due(now);
    if (!challenge && !p.acks.due(now) && !p.response_due) return std::nullopt;
    const std::size_t room = challenge_bytes(p);
    PacketPlan plan{.size = room, .eliciting = true, .pad = challenge};
    if (challenge) plan.challenge = v.challenge();
    const std::size_t size = room < kLeastChallenge ? 0 : build_packet(now, p, out, plan);
    if (challenge) {
        v.on_challenge_sent(now, size, probe_interval(p));
    } else {
        v.on_sent(size);
    }
    if (challenge && v.tries() == kTriesUntilTold + 1) tell_path(p, true);
    if (size == 0) return std::nullopt;
    return transmit_of(p, size, size);
}

// The loss of a probe says something about its size only on a path that works. A probe larger than the window would
// block everything else until it is declared lost, which takes seconds after a slow handshake. An end that only
// acknowledges gains nothing: its probes would occupy a narrow return path for seconds.
bool Connection::Impl::mtu_probe_allowed(const PathContext& p, std::uint32_t size) const {
    const std::uint64_t window = p.congestion->window();
    const bool of_use = !p.acks.pace().slow() || streams_.counters().bytes_sent > config_.min_datagram;
    return of_use && !p.line_probes.under_way() && p.recovery.probe_count() == 0 && p.recovery.rtt().has_sample() &&
           size <= window && p.in_flight() + std::min<std::uint64_t>(size, window / 2) <= window;
}

std::optional<Transmit> Connection::Impl::transmit_mtu_probe(Instant now, PathContext& p, std::span<std::byte> out) {
    const auto wanted = p.mtu.probe_due(now);
    if (!wanted || *wanted > out.size() || !mtu_probe_allowed(p, *wanted)) return std::nullopt;
    const std::size_t size =
        build_packet(now, p, out, {.size = *wanted, .acks = false, .pad = true, .mtu_probe = true});
    p.mtu.on_probe_sent();
    Transmit t = transmit_of(p, size, size);
    t.may_batch = false;
    t.mtu_probe = true;
    return t;
}

bool Connection::Impl::shared_pending() const {
    if (handshake_done_due_ || !abandons_due_.empty()) return true;
    return !paths_.single() && std::ranges::any_of(paths_.all(), [](const auto& p) {
        return p->status_due || (p->ack_elsewhere && p->acks.largest());
    });
}

bool Connection::Impl::wants_to_send(const PathContext& p, const Cargo& cargo) const {
    if (p.response_due || p.ping_due) return true;
    if (cargo.shared && cargo.data) return shared_pending() || streams_.pending();
    if (cargo.shared) return shared_pending() || streams_.control_pending();
    return cargo.data && streams_.data_pending();
}

/// Packets of the link probe that the next packet opens; 0: it opens none.
std::uint32_t Connection::Impl::line_probe_here(Instant now, const PathContext& p) const {
    const PacketNumber number = p.recovery.next_number();
    if (!p.line_probes.may_open(now, number) || !streams_.data_pending() || p.probes > 0) return 0;
    return p.line_probes.packets(
        now, number, {.wanted = p.congestion->probe_packets(), .cap = max_rate_, .datagram_bytes = p.mtu.current()});
}

/// Nothing is sent. Tells the pacer and the delivery rate why.
void Connection::Impl::hold(PathContext& p, bool wants, bool probe) {
    if (!wants && !probe) p.recovery.set_application_limited(true);
    const bool paced = wants && p.in_flight() + p.mtu.current() <= p.congestion->window();
    p.pacer.set_held(paced, p.recovery.rtt().has_sample() ? p.recovery.rtt().minimum() : Duration());
}

std::optional<Transmit> Connection::Impl::transmit_data(Instant now, PathContext& p, Cargo cargo,
                                                        std::size_t max_segments, std::span<std::byte> out) {
    if (p.full) return std::nullopt;
    const std::size_t mtu = p.mtu.current();
    const std::uint64_t budget = this->budget(now, p);
    const std::uint64_t window = p.congestion->window();

    std::size_t used = 0;
    std::size_t segment = 0;
    bool mark = false;
    for (std::size_t i = 0; i < max_segments && used + mtu <= out.size(); ++i) {
        const bool probe = p.probes > 0;
        const bool follows = p.line_probes.under_way();  // after the first packet of a pair or train
        const bool allowed = probe || follows || (p.in_flight() + mtu <= window && used + mtu <= budget);
        const bool wants = wants_to_send(p, cargo);
        if (!(allowed && (wants || probe)) && !p.acks.due(now)) {
            if (paths_.single()) hold(p, wants, probe);
            break;
        }
        // A batch has one mark. Probes have none: marks may be what the path drops.
        const bool may_mark = p.ecn.marks(p.recovery.next_number());
        if (i == 0) mark = may_mark && allowed && wants && !probe;
        if (i > 0 && may_mark != mark) break;
        PacketPlan plan{.size = mtu,
                        .eliciting = allowed,
                        .shared = allowed && cargo.shared,
                        .data = allowed && cargo.data,
                        .pad = probe && !cargo.data,
                        .mark = mark};
        if (p.probes == 1) plan.size = p.mtu.minimum();
        if (cargo.pick) {
            plan.from = cargo.pick->from;
            plan.duplicate = cargo.pick->duplicate;
        }
        // A probe that starts with a duplicate would continue with new bytes, on a path that should get none.
        const bool may_open = allowed && !follows && wants && cargo.data && !plan.duplicate;
        const std::uint32_t opens = may_open ? line_probe_here(now, p) : 0;
        const bool probes_line = opens > 0 || follows;
        if (probes_line && i > 0) break;
        if (opens > 0) p.line_probes.open(opens, plan.from);
        if (probes_line) {
            plan.size = p.line_probes.next_size(mtu);
            plan.pair_second = follows;
        }
        const std::size_t size = build_packet(now, p, out.subspan(used, mtu), plan);
        if (probes_line) p.line_probes.on_left(now, {!follows, plan.size, size}, streams_.data_pending());
        if (size == 0) break;
        used += size;
        if (segment == 0) segment = size;
        if (probes_line) {
            Transmit t = transmit_of(p, used, segment, mark);
            t.may_batch = false;
            return t;
        }
        if (size != mtu) break;
        if (!cargo.pick) continue;
        cargo.pick = choose(now);
        if (!cargo.pick || cargo.pick->path != p.id || cargo.pick->duplicate) break;
    }
    if (used == 0) return std::nullopt;
    return transmit_of(p, used, segment, mark);
}

// Chooses the path of the next datagram. Frames that belong to a path leave on it, credit and similar frames on the
// best path, and stream bytes where the scheduler says.

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
    return p.state == PathState::active && !p.full && p.in_flight() + datagram <= p.congestion->window() &&
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
        // ACKs, probes, and answers to the peer's are bound to their path.
        const bool bound = p->acks.due(now) || p->probes > 0 || p->response_due || p->ping_due;
        if (!t && p->state != PathState::probing && bound) {
            t = transmit_data(now, *p, {.shared = false, .data = false}, 1, out);
        }
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
        const bool mark = p.ecn.marks(p.recovery.next_number());
        const std::size_t size =
            build_packet(now, p, out, {.size = p.mtu.current(), .eliciting = true, .late = &*late, .mark = mark});
        watch_.on_copied(now, *late);
        if (size > 0) return transmit_of(p, size, size, mark);
    }
    return std::nullopt;
}

void Connection::Impl::note_blocked(Instant now) {
    for (const auto& p : paths_.all()) {
        const bool blocked =
            p->state == PathState::suspended || (p->state == PathState::active && scheduler_->blocked(p->id));
        if (p->blocked_since) p->figures.blocked += now - *p->blocked_since;
        p->blocked_since = blocked ? std::optional(now) : std::nullopt;
    }
}

}  // namespace udtx::proto
