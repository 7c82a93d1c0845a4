// A connection's clockwork: what falls due when, and what then happens.
#include <algorithm>

#include "proto/connection.hpp"

namespace udtx::proto {

namespace {
void earlier(std::optional<Instant>& best, std::optional<Instant> candidate) {
    if (candidate && (!best || *candidate < *best)) best = candidate;
}
constexpr std::uint32_t kSilentProbes = 2;  // probe timeouts in a row that count as UDT's EXP event
}  // namespace

Instant Connection::idle_deadline() const {
    if (!keys_) return started_ + config_.handshake_timeout;
    Duration idle = config_.idle_timeout;
    if (peer_.idle_timeout_ms > 0) {
        const auto longest = static_cast<std::uint64_t>(idle / std::chrono::milliseconds(1));
        idle = std::chrono::milliseconds(std::min(peer_.idle_timeout_ms, longest));
    }
    return last_received_ + idle;
}

std::optional<Instant> Connection::poll_timeout() const {
    if (state_ == State::drained) return std::nullopt;
    if (state_ == State::closing) {
        return close_sends_ > 0 ? std::min(close_next_, drain_deadline_) : drain_deadline_;
    }
    std::optional<Instant> next = idle_deadline();
    earlier(next, handshake_.deadline());
    if (!keys_) return next;
    earlier(next, path_.recovery.deadline());
    earlier(next, path_.acks.deadline());
    earlier(next, path_.validator.deadline());
    // What holds a probe back ends with a packet that comes in: waiting for the time alone would spin.
    if (const auto due = path_.mtu.deadline()) {
        const auto size = path_.mtu.probe_due(*due);
        if (size && mtu_probe_allowed(*size)) earlier(next, due);
    }
    earlier(next, previous_keys_until_);
    if (config_.keep_alive > Duration::zero() && path_.recovery.in_flight() == 0) {
        earlier(next, std::max(last_sent_eliciting_, last_received_) + config_.keep_alive);
    }
    const bool room = path_.recovery.in_flight() + path_.mtu.current() <= path_.congestion->window();
    if (room && wants_to_send()) earlier(next, path_.pacer.next_departure(last_sent_eliciting_));
    return next;
}

void Connection::handle_timeout(Instant now) {
    if (state_ == State::drained) return;
    touch();
    if (state_ == State::closing) {
        if (now >= drain_deadline_) state_ = State::drained;
        return;
    }
    if (now >= idle_deadline()) {
        on_idle(now);
        return;
    }
    if (const auto due = handshake_.deadline(); due && now >= *due) handshake_.on_timeout(now);
    if (!keys_) return;
    if (previous_keys_until_ && now >= *previous_keys_until_) {
        keys_->drop_previous();
        previous_keys_until_.reset();
    }
    if (keys_->key_updates() != seen_key_updates_) {
        seen_key_updates_ = keys_->key_updates();
        previous_keys_until_ = now + 3 * probe_interval();
    }
    on_path_timeout(now);
    const bool silent = path_.recovery.in_flight() == 0 && config_.keep_alive > Duration::zero() &&
                        now >= std::max(last_sent_eliciting_, last_received_) + config_.keep_alive;
    if (silent) path_.ping_due = true;
}

void Connection::on_path_timeout(Instant now) {
    const auto due = path_.recovery.deadline();
    if (!due || now < *due) return;
    outcome_.clear();
    path_.recovery.on_timeout(now, outcome_);
    if (!outcome_.probe_timeout) {
        apply_outcome(now, false);
        return;
    }
    ++path_.probe_timeouts;
    path_.probes = PathContext::kProbes;
    // The tail is sent again rather than a bare PING: if it was lost, nothing else would tell (RFC 9002,
    // section 6.2.4).
    if (const auto* oldest = path_.recovery.oldest_in_flight()) streams_.on_lost(*oldest);
    const bool silent = path_.recovery.probe_count() >= kSilentProbes;
    apply_outcome(now, silent);
}

void Connection::on_idle(Instant now) {
    CloseReason why;
    if (keys_) {
        why.code = ErrorCode::timeout;
        why.message = "the peer fell silent for " +
                      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - last_received_).count()) +
                      " s";
    } else if (handshake_.heard()) {
        why.code = ErrorCode::timeout;
        why.message = "the handshake did not finish in time";
    } else {
        why.code = ErrorCode::udp_blocked;
        why.message = "nothing came back";
    }
    end(std::move(why));
}

void Connection::on_datagram_too_large(Instant now, std::size_t bytes) {
    path_.mtu.on_too_large(now, static_cast<std::uint32_t>(bytes));
    path_.congestion->on_mtu(path_.mtu.current());
    touch();
}

}  // namespace udtx::proto
