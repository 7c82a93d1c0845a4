// The paths of a connection: how they open, fail, return and close.
#include <algorithm>
#include <string>
#include <utility>

#include "proto/connection_impl.hpp"

namespace udtx::proto {

/// A refusal that may pass counts if it is repeated after this time.
static constexpr Duration kRefusedAgain = std::chrono::milliseconds(100);

std::uint32_t Connection::Impl::max_paths() const {
    const auto theirs = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(peer_.max_paths, 1, 255));
    return std::min(std::max(config_.max_paths, 1U), theirs);
}

PathContext& Connection::Impl::open_path(Instant now, PathId id, const Address& local, const Address& remote) {
    auto path =
        std::make_unique<PathContext>(id, config_, local, remote, setup_.experiment.first_number, PathState::probing);
    fit_size(*path, false);
    path->last_received = now;
    path->last_eliciting = now;
    path->skip_in = draw_skip();
    give_controller(*path);
    if (!scheduler_) make_scheduler();
    if (lacks_plug_in_) fail(now, *lacks_plug_in_);
    return paths_.add(std::move(path));
}

Result<PathId> Connection::add_path(Instant now, const Address& local, const Address& remote,
                                    const PathOptions& options) {
    Impl& c = *impl_;
    if (!connected()) return Error{ErrorCode::invalid_argument, "the connection is not open"};
    if (role() != Role::client) {
        return Error{ErrorCode::invalid_argument, "only the end that connected can open paths"};
    }
    if (c.paths_.count() >= c.max_paths()) {
        return Error{ErrorCode::refused, "no more than " + std::to_string(c.max_paths()) +
                                             " paths at once (the peer takes " +
                                             std::to_string(std::max<std::uint64_t>(c.peer_.max_paths, 1)) + ")"};
    }
    const auto id = c.paths_.unused_id();
    if (!id) return Error{ErrorCode::refused, "the connection has used all 256 path numbers: connect again"};
    PathContext& p = c.open_path(now, *id, local, remote);
    if (c.lacks_plug_in_) return *c.lacks_plug_in_;
    p.options = options;
    p.validator.ask(now, local, remote, c.deps_.rng->next_u64());
    c.touch();
    return *id;
}

Result<void> Connection::remove_path(Instant now, PathId id) {
    Impl& c = *impl_;
    PathContext* p = c.paths_.find(id);
    if (p == nullptr) return Error{ErrorCode::invalid_argument, "there is no such path"};
    if (!c.paths_.another_works(*p)) return Error{ErrorCode::refused, "no other path works"};
    c.abandons_due_.push_back({id, 0});
    c.close_path(*p);
    c.leave_closed(now);
    c.touch();
    return {};
}

void Connection::Impl::use_for_handshake(const Address& local, const Address& remote, const PathOptions& options) {
    PathContext& p = paths_.first();
    const bool was_carried = p.carried();
    p.local = local;
    p.remote = remote;
    p.options = options;
    p.full = false;
    if (p.carried() || was_carried) give_controller(p);
}

/// The flight has left. Prepares it once more if another candidate is to get it.
bool Connection::Impl::prepare_next_flight() {
    if (handshake_.heard()) return false;
    const PathAddresses* const next = candidates_.next();
    if (next == nullptr) return false;
    use_for_handshake(next->local, next->remote, next->options);
    handshake_.send_again();
    return true;
}

void Connection::Impl::add_candidate(Instant now, PathAddresses candidate) {
    if (setup_.role != Role::client || handshake_.heard() || life_ != Life::handshaking) return;
    candidates_.add(std::move(candidate), now - started_);
    touch();
}

void Connection::Impl::on_no_route(Instant now, const Address& local, const Address& remote, std::string why,
                                   bool may_pass) {
    no_route_ = std::move(why);
    no_route_at_ = now;
    if (setup_.role != Role::client || keys_ || handshake_.heard() || life_ != Life::handshaking) return;
    if (candidates_.blocked(local, remote)) return;
    if (may_pass) {
        const auto known = std::ranges::find(refused_once_, std::pair(local, remote), &RefusedOnce::addresses);
        if (known == refused_once_.end()) return refused_once_.push_back({{local, remote}, now});
        if (now - known->since < kRefusedAgain) return;
    }
    if (candidates_.block(local, remote)) {
        end({.code = ErrorCode::no_route, .message = no_route_});
        return;
    }
    touch();
}

/// A packet came back. The addresses on which it came become those of the first path.
void Connection::Impl::settle_first_path(const RxDatagram& datagram) {
    const PathAddresses* const found = candidates_.came_by(datagram.local, datagram.remote);
    const PathContext& p = paths_.first();
    if (found != nullptr && !(found->local == p.local && found->remote == p.remote)) {
        use_for_handshake(found->local, found->remote, found->options);
    }
    if (handshake_.heard()) candidates_.settle();
}

/// Server: the handshake goes on where the client's newest packet came from, because what this end sent to an earlier
/// address may never have arrived.
void Connection::Impl::answer_there(const RxDatagram& datagram, wire::LongType type) {
    PathContext& p = paths_.first();
    if (setup_.role != Role::server || keys_ || datagram.remote == p.remote) return;
    const bool proved = type == wire::LongType::handshake || datagram.remote.carrier != Carrier::udp;
    if (!proved) handshake_.distrust_address(datagram.data.size());
    use_for_handshake(datagram.local, datagram.remote, p.options);
    handshake_.send_again();
}

/// Sets the search for the datagram size of a new path. `narrow`: it has carried only small datagrams.
void Connection::Impl::fit_size(PathContext& p, bool narrow) {
    // The largest datagram on a byte stream: it fits into one record of TLS.
    constexpr std::uint32_t kLargestCarried = 16'000;
    const auto largest = static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.max_datagram, peer_.max_datagram));
    if (p.carried()) {
        p.mtu = path::MtuSearch::known(config_.min_datagram,
                                       std::max(config_.min_datagram, std::min(largest, kLargestCarried)));
    } else {
        p.mtu = path::MtuSearch(config_.min_datagram,
                                std::max(narrow ? path::MtuSearch::kLeast : config_.min_datagram, largest), narrow);
    }
}

void Connection::Impl::on_carrier_full(const Address& local, const Address& remote, bool full) {
    for (const auto& p : paths_.all()) {
        if (p->carried() && p->local == local && p->remote == remote) p->full = full;
    }
    touch();
}

void Connection::Impl::on_carrier_gone(Instant now, const Address& local, const Address& remote,
                                       const std::string& why) {
    if (!handshake_.heard() && setup_.role == Role::client) return on_no_route(now, local, remote, why, false);
    const auto all = paths_.all();
    const auto gone = std::ranges::find_if(
        all, [&](const auto& p) { return p->carried() && p->local == local && p->remote == remote; });
    if (gone == all.end() || over()) return;
    if (!paths_.another_works(**gone)) return end({.code = ErrorCode::timeout, .message = why});
    abandons_due_.push_back({(*gone)->id, 0});
    close_path(**gone);
    leave_closed(now);
    touch();
}

void Connection::Impl::tell_path(const PathContext& p, bool unreachable) {
    events_.push_back(event::PathChanged{p.id, p.state, p.local, p.remote, unreachable});
}

/// The user sets the floor, and the rate of the policy `fixed`, for all paths together. They are divided by weight
/// among the paths that carry data. The cap is not divided: total_ keeps it over all paths.
void Connection::Impl::share_rates() {
    const auto carries = [](const PathContext& p, bool standby) {
        return p.state == PathState::active && p.options.standby == standby;
    };
    const bool standby = std::ranges::none_of(paths_.all(), [&](const auto& p) { return carries(*p, false); });
    double all = 0.0;
    for (const auto& p : paths_.all()) all += carries(*p, standby) ? p->options.weight : 0.0;
    for (const auto& p : paths_.all()) {
        const double part = carries(*p, standby) && all > 0.0 ? p->options.weight / all : 1.0;
        p->limits.min_rate = config_.min_rate * part;
        p->limits.max_rate = config_.policy == Policy::fixed ? max_rate_ * part : max_rate_;
        p->congestion->on_limits(p->limits);
    }
}

void Connection::Impl::enter(PathContext& p, PathState state) {
    p.state.enter(state);
    if (state != PathState::active) p.doubt.reset();
    share_rates();
    tell_path(p, false);
    touch();
}

/// The peer has answered the challenge of this end.
void Connection::Impl::activate(Instant now, PathContext& p) {
    p.remote = p.validator.remote();
    p.local = p.validator.local();
    p.validator.clear();
    p.last_received = now;
    if (p.options.standby || p.options.weight != 1.0) p.status_due = true;
    enter(p, PathState::active);
    suspend_silent(now);
}

namespace {

/// Datagrams that the peer should have answered. Probes of the datagram size do not count, because they may be too
/// large.
std::uint64_t unanswered(const PathContext& p) {
    std::uint64_t asked = 0;
    p.recovery.for_each_in_flight([&asked](const auto& packet) { asked += packet.mtu_probe ? 0 : 1; });
    return asked;
}

}  // namespace

/// One silence is one failure, however often it is noted.
void Connection::Impl::note_failure(Instant now, PathContext& p) {
    if (unanswered(p) >= PathContext::kFailureDatagrams) p.each_counts_until = now + PathContext::kEachCounts;
    if (p.failed_at && *p.failed_at >= p.last_received) return;
    const Duration apart = p.failed_at ? now - *p.failed_at : PathContext::kUnrest;
    p.probation = apart < PathContext::kUnrest ? std::max(2 * apart, PathContext::kLeastProbation) : Duration::zero();
    p.failed_at = now;
    p.steady_from = now + p.probation;
}

/// At a probe timeout: true if the path has failed. It had datagrams to answer, and not all paths are silent.
bool Connection::Impl::fails(Instant now, const PathContext& p) const {
    const auto heard = [now](const PathContext& q) { return now - q.last_received < kLeastSilence; };
    const bool another =
        std::ranges::any_of(paths_.all(), [&](const auto& q) { return q->state == PathState::active && heard(*q); });
    if (!another || heard(p)) return false;
    const bool each = now < p.steady_from && now < p.each_counts_until;
    return unanswered(p) >= (each ? 1 : PathContext::kFailureDatagrams);
}

// All data in flight moves to the other paths at once. The controller is told of one timeout and no losses, because
// silence says nothing about the path's queue.
void Connection::Impl::suspend(Instant now, PathContext& p) {
    ++p.figures.suspensions;
    note_failure(now, p);
    const bool told = p.recovery.in_timeout();
    p.probes = 0;
    p.line_probes.abandon();
    outcome_.clear();
    if (setup_.experiment.silent_path_rule) {
        p.recovery.begin_timeout();
        p.recovery.give_up_flight(now, outcome_);
    } else {
        p.recovery.for_each_in_flight([this](const recovery::SentPacket& packet) { send_again(packet); });
    }
    for (const auto& packet : outcome_.lost) send_again(packet);
    p.figures.lost_packets += outcome_.lost.size();
    outcome_.lost.clear();
    apply_outcome(now, p, !told);
    p.ack_elsewhere = p.acks.pending();
    p.status_due = true;
    p.revival_wait = PathContext::kFirstRevival;
    p.revival_at = now + p.revival_wait;
    enter(p, PathState::suspended);
}

/// Call it when a path has become silent, and when a path has come that could take over.
void Connection::Impl::suspend_silent(Instant now) {
    for (const auto& p : paths_.all()) {
        const bool silent = p->state == PathState::active && PathSet::silent(*p, now);
        if (silent && paths_.another_works(*p)) suspend(now, *p);
    }
}

/// `proven_bytes`: size of the largest packet sent in the timeout that has arrived.
void Connection::Impl::revive(Instant now, PathContext& p, std::uint32_t proven_bytes) {
    p.recovery.end_timeout();
    p.probes = 0;
    p.steady_from = now + p.probation;
    p.status_due = true;
    p.ack_elsewhere = false;
    if (proven_bytes < p.mtu.current()) {
        p.mtu.verify();
        p.tell_datagram_size();
    }
    enter(p, PathState::active);
    suspend_silent(now);
}

void Connection::Impl::close_path(PathContext& p) {
    p.recovery.abandon(outcome_);
    for (const auto& packet : outcome_.lost) send_again(packet);
    outcome_.clear();
    path_closing_ = true;
    enter(p, PathState::closed);
}

void Connection::Impl::leave_closed(Instant now) {
    if (!std::exchange(path_closing_, false)) return;
    while (!paths_.single()) {
        const auto all = paths_.all();
        const auto gone = std::ranges::find_if(all, [](const auto& p) { return p->state == PathState::closed; });
        if (gone == all.end()) break;
        paths_.close((*gone)->id, path_stats(**gone));
    }
    // The last path stays in use in any state.
    PathContext& last = paths_.first();
    if (paths_.single() && last.state == PathState::suspended) revive(now, last, 0);
}

void Connection::Impl::on_path_status(const wire::PathStatusFrame& frame) {
    PathContext* p = paths_.find(frame.path);
    if (p == nullptr || (p->status_seen && frame.sequence <= *p->status_seen)) return;
    p->status_seen = frame.sequence;
    if (setup_.role == Role::server) {
        if (frame.status != wire::PathStatus::suspended) p->options.standby = frame.status == wire::PathStatus::standby;
        p->options.weight = static_cast<double>(frame.weight) / 1000.0;
        share_rates();
    }
    const bool suspended = frame.status == wire::PathStatus::suspended;
    // Another path acknowledges the packets that came before the silence, so that the peer does not repeat their bytes.
    if (suspended && !p->peer_suspended) p->ack_elsewhere = p->acks.largest().has_value();
    p->peer_suspended = suspended;
}

Result<void> Connection::Impl::on_path_abandon(const wire::PathAbandonFrame& frame) {
    PathContext* p = paths_.find(frame.path);
    paths_.mark_used(frame.path);
    if (p == nullptr || p->state == PathState::closed) return {};
    const auto all = paths_.all();
    const bool another =
        std::ranges::any_of(all, [&](const auto& q) { return q.get() != p && q->state != PathState::closed; });
    if (!another) return Error{ErrorCode::protocol, "the peer gave up the only path"};
    close_path(*p);
    return {};
}

}  // namespace udtx::proto
