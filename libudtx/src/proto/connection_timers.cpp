// The timers of a connection: when each expires, and what happens then.
#include <algorithm>
#include <new>
#include <string>

#include "crypto/bytes.hpp"
#include "proto/connection_impl.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

namespace {
void earlier(std::optional<Instant>& best, std::optional<Instant> candidate) {
    if (candidate && (!best || *candidate < *best)) best = candidate;
}
constexpr std::uint64_t kLeastProbing = 100;  // bytes of credit that an answer needs on an unvalidated path
}  // namespace

Instant Connection::Impl::idle_deadline() const {
    if (!keys_) return started_ + config_.handshake_timeout;
    return last_received_ + lower_idle_timeout();
}

/// The lower idle timeout of both ends.
Duration Connection::Impl::lower_idle_timeout() const {
    const Duration own = config_.idle_timeout;
    if (peer_.idle_timeout_ms == 0) return own;
    const auto longest = static_cast<std::uint64_t>(own / std::chrono::milliseconds(1));
    return std::chrono::milliseconds(std::min(peer_.idle_timeout_ms, longest));
}

std::optional<Instant> Connection::Impl::poll_timeout() const {
    if (drained()) return std::nullopt;
    if (life_ == Life::failing) return idle_deadline();
    if (over()) return close_next_;
    std::optional<Instant> next = idle_deadline();
    earlier(next, handshake_.deadline());
    if (const auto begin = candidates_.next_begin(); begin && *begin < config_.handshake_timeout) {
        earlier(next, started_ + *begin);
    }
    if (!keys_) return next;
    for (const auto& p : paths_.all()) earlier(next, path_deadline(*p));
    earlier(next, previous_keys_until_);
    if (watching()) earlier(next, watch_.wakeup());
    return next;
}

std::optional<Instant> Connection::Impl::path_deadline(const PathContext& p) const {
    if (p.full) {
        // Nothing leaves here at present, so nothing is due but what only this end does.
        if (p.state == PathState::suspended) return p.revival_at;
        return p.state == PathState::active ? p.recovery.deadline() : std::nullopt;
    }
    std::optional<Instant> next = p.validator.deadline();
    if (p.state != PathState::probing || p.validator.credit() >= kLeastProbing) earlier(next, p.acks.deadline());
    if (p.state == PathState::suspended) earlier(next, p.revival_at);
    if (p.state != PathState::active) return next;
    if (p.doubt) earlier(next, std::min(p.doubt->ask_at, p.doubt->until));
    earlier(next, p.recovery.deadline());
    if (p.stretch_acks) earlier(next, p.stretch_acks->deadline());
    // An incoming packet ends whatever holds a probe back. A timer for this would spin.
    if (const auto due = p.mtu.deadline()) {
        const auto size = p.mtu.probe_due(*due);
        if (size && mtu_probe_allowed(p, *size)) earlier(next, due);
    }
    // A PING that is already due waits for the pacer.
    if (!p.ping_due) earlier(next, keep_alive_at(p));
    earlier(next, departure(p));
    return next;
}

/// When the pacer releases waiting data.
std::optional<Instant> Connection::Impl::departure(const PathContext& p) const {
    const bool room = p.in_flight() + p.mtu.current() <= p.congestion->window();
    if (!room || !wants_to_send(p, {})) return std::nullopt;
    std::optional<Instant> at = p.pacer.next_departure(last_sent_eliciting_);
    if (!paths_.single()) {
        const auto all = total_.next_departure(last_sent_eliciting_);
        if (all && (!at || *all > *at)) at = all;
    }
    return at;
}

/// With several paths, each one is kept alive on its own. A lost PING can be repeated before either end gives up.
std::optional<Instant> Connection::Impl::keep_alive_at(const PathContext& p) const {
    if (config_.keep_alive == Duration::zero() || p.recovery.in_flight() > 0) return std::nullopt;
    const Instant silent_since =
        paths_.single() ? std::max(last_sent_eliciting_, last_received_) : std::max(p.last_eliciting, p.last_received);
    return silent_since + std::min(config_.keep_alive, lower_idle_timeout() / 3);
}

void Connection::Impl::handle_timeout(Instant now) {
    if (drained()) return;
    touch();
    if (over()) {
        // All copies leave first, however late this thread is: without one the peer would not learn the end.
        if (close_sends_ == 0 && now >= close_next_) life_.enter(Life::drained);
        return;
    }
    if (now >= idle_deadline()) {
        on_idle(now);
        return;
    }
    if (life_ == Life::failing) return give_up(now, std::bad_alloc());
    if (const auto due = handshake_.deadline(); due && now >= *due) {
        handshake_.on_timeout(now);
        candidates_.repeat();
        (void)prepare_next_flight();
    }
    if (candidates_.begin(now - started_)) (void)prepare_next_flight();
    if (!keys_) return;
    if (previous_keys_until_ && now >= *previous_keys_until_) {
        keys_->drop_previous();
        previous_keys_until_.reset();
    }
    if (keys_->key_updates() != seen_key_updates_) {
        seen_key_updates_ = keys_->key_updates();
        Duration longest{};
        for (const auto& p : paths_.all()) longest = std::max(longest, probe_interval(*p));
        previous_keys_until_ = now + 3 * longest;
    }
    for (const auto& p : paths_.all()) {
        if (connected()) on_path_clock(now, *p);
    }
}

void Connection::Impl::on_path_clock(Instant now, PathContext& p) {
    if (p.state == PathState::suspended && now >= p.revival_at) {
        // Gives up earlier probes. The controller is told neither of them nor of other losses meanwhile.
        if (p.recovery.in_timeout()) {
            p.recovery.give_up_flight(now, outcome_, now - recovery::LossRecovery::kSilenceRemembered);
            for (const auto& packet : outcome_.lost) send_again(packet);
            outcome_.clear();
        }
        p.probes = PathContext::kProbes;
        p.revival_wait = std::min(2 * p.revival_wait, PathContext::kLastRevival);
        p.revival_at = now + p.revival_wait;
    }
    if (p.state != PathState::active) return;
    on_doubt_clock(now, p);
    if (!connected() || p.state != PathState::active) return;
    on_path_timeout(now, p);
    tell_kept_back(now, p);
    if (const auto due = keep_alive_at(p); due && now >= *due) p.ping_due = true;
}

void Connection::Impl::on_path_timeout(Instant now, PathContext& p) {
    const auto due = p.recovery.deadline();
    if (!due || now < *due) return;
    outcome_.clear();
    p.recovery.on_timeout(now, outcome_);
    if (!outcome_.probe_timeout) {
        apply_outcome(now, p, false);
        return;
    }
    ++p.figures.probe_timeouts;
    p.ecn.on_silence(p.recovery.next_number());
    if (fails(now, p)) note_failure(now, p);
    p.probes = PathContext::kProbes;
    // The tail is sent again instead of a bare PING: if it was lost, nothing else would show that (RFC 9002, section
    // 6.2.4).
    if (const auto* oldest = p.carried() ? nullptr : p.recovery.oldest_in_flight()) {
        streams_.on_lost(*oldest);
        if (p.stretch_acks) p.stretch_acks->on_repeat(oldest->number);
    }
    const bool silent = p.recovery.probe_count() >= kSilentProbes;
    if (PathSet::silent(p, now) && paths_.another_works(p)) {
        suspend(now, p);
        return;
    }
    // A timeout is one event, however long it lasts.
    const bool told = p.recovery.in_timeout();
    if (silent && !paths_.single() && setup_.experiment.silent_path_rule) p.recovery.begin_timeout();
    apply_outcome(now, p, silent && !told);
}

void Connection::Impl::on_idle(Instant now) {
    CloseReason why;
    if (keys_) {
        why.code = ErrorCode::timeout;
        why.message = "the peer did not answer for " +
                      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - last_received_).count()) +
                      " s";
        if (!no_route_.empty() && no_route_at_ > last_received_) why.message += "; " + no_route_;
    } else if (handshake_.heard()) {
        why.code = ErrorCode::timeout;
        why.message = "the handshake did not finish in time";
    } else {
        why.code = ErrorCode::udp_blocked;
        why.message = "nothing came back";
    }
    end(std::move(why));
}

void Connection::Impl::on_datagram_too_large(Instant now, PathId path, std::size_t bytes) {
    PathContext* found = paths_.find(path);
    if (found == nullptr) return;
    PathContext& p = *found;
    if (!keys_) {
        touch();
        if (handshake_.on_too_large(bytes) || setup_.role == Role::server) return;
        end({.code = ErrorCode::no_route,
             .message = "no route to " + to_string(p.remote) + "/udp: the interface carries no packets of " +
                        std::to_string(wire::kLeastInitialDatagram + 28) + " bytes (raise its MTU)"});
        return;
    }
    p.mtu.on_too_large(now, static_cast<std::uint32_t>(bytes));
    p.tell_datagram_size();
    touch();
}

// Signs that the peer has ended, and their consequences.

namespace {

/// By then a peer that is only late must have answered. A sign that is easier to forge gets more time.
Duration least_patience(std::optional<Evidence> evidence) {
    switch (evidence.value_or(Evidence::refused)) {
        case Evidence::refused:
            return std::chrono::milliseconds(750);
        case Evidence::exited:
            return std::chrono::milliseconds(300);
        case Evidence::reset:
            break;
    }
    return kLeastSilence;
}
constexpr int kAnswersWaitedFor = 3;
constexpr int kAnswersWaitedForWithToken = 2;
constexpr int kQuestions = 3;  // within the patience; each is two packets

std::string words_for(std::optional<Evidence> evidence, const Address& remote) {
    if (!evidence) {
        return "the connection timed out while this process was stopped, and nothing arrives from " + to_string(remote);
    }
    switch (*evidence) {
        case Evidence::refused:
            return "nothing listens on UDP " + to_string(remote) + " any more, and nothing arrives from there";
        case Evidence::exited:
            return "the program at the far end has ended, and nothing arrives from " + to_string(remote);
        case Evidence::reset:
            break;
    }
    return "the peer at " + to_string(remote) + " was restarted and does not know this connection";
}

}  // namespace

void Connection::suspect(Instant now, Evidence evidence) {
    for (const auto& p : impl_->paths_.all()) impl_->doubt(now, *p, evidence);
}

void Connection::on_refused(Instant now, const Address& remote) {
    for (const auto& p : impl_->paths_.all()) {
        if (p->remote == remote) impl_->doubt(now, *p, Evidence::refused);
    }
}

void Connection::on_size_told(const Address& remote, std::uint32_t bytes) {
    for (const auto& p : impl_->paths_.all()) {
        if (p->remote == remote && !p->carried()) p->mtu.on_told(bytes);
    }
    if (!impl_->keys_) impl_->handshake_.on_told(bytes);
    impl_->touch();
}

bool Connection::Impl::on_reset(Instant now, const RxDatagram& datagram) {
    if (setup_.role != Role::client || !keys_ || !peer_.reset_token || datagram.data.size() != kResetBytes)
        return false;
    const auto header = wire::parse_short_header(datagram.data);
    if (!header || header->destination != handshake_.remote_id()) return false;
    const auto token = datagram.data.last(crypto::kResetTokenBytes);
    if (!crypto::equal_in_constant_time(*peer_.reset_token, token)) return false;
    for (const auto& p : paths_.all()) {
        if (p->remote == datagram.remote) doubt(now, *p, Evidence::reset);
    }
    return true;
}

void Connection::Impl::doubt(Instant now, PathContext& p, std::optional<Evidence> evidence) {
    if (!connected() || p.state != PathState::active) return;
    const auto& rtt = p.recovery.rtt().has_sample() ? p.recovery.rtt() : handshake_.rtt();
    const Duration answer = rtt.probe_timeout() + kSynInterval;
    const int answers = evidence == Evidence::reset ? kAnswersWaitedForWithToken : kAnswersWaitedFor;
    const Duration patience = std::max<Duration>(answers * answer, least_patience(evidence));
    // Timeouts have already asked the peer for this long.
    const bool silent = p.recovery.probe_count() >= kSilentProbes && now - p.last_received >= patience;
    const bool proved = evidence == Evidence::reset && silent;
    const Doubt fresh{.evidence = evidence,
                      .patience = patience,
                      .until = proved ? now : now + patience,
                      .ask_at = now,
                      .answers_from = now + answer};
    if (p.doubt && p.doubt->until <= fresh.until) return;
    p.doubt = fresh;
    touch();
}

/// An authentic packet has arrived.
void Connection::Impl::ease_doubt(Instant now, PathContext& p) {
    if (!p.doubt) return;
    if (now >= p.doubt->answers_from) {
        p.doubt.reset();
    } else {
        p.doubt->until = std::max(p.doubt->until, now + p.doubt->patience);
    }
}

void Connection::Impl::on_doubt_clock(Instant now, PathContext& p) {
    if (!p.doubt) return;
    if (now < p.doubt->until) {
        if (now < p.doubt->ask_at) return;
        p.probes = PathContext::kProbes;
        p.doubt->ask_at = now + p.doubt->patience / kQuestions;
        return;
    }
    const auto evidence = p.doubt->evidence;
    p.doubt.reset();
    if (paths_.another_works(p)) {
        suspend(now, p);
        return;
    }
    end({.code = ErrorCode::timeout, .message = words_for(evidence, p.remote)});
}

}  // namespace udtx::proto
