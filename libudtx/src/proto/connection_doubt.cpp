// Signs that the peer has ended, and their consequences.
#include <algorithm>
#include <string>

#include "crypto/bytes.hpp"
#include "proto/connection_impl.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

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

void Connection::Impl::suspect(Instant now, Evidence evidence) {
    for (const auto& p : paths_.all()) doubt(now, *p, evidence);
}

void Connection::Impl::on_refused(Instant now, const Address& remote) {
    for (const auto& p : paths_.all()) {
        if (p->remote == remote) doubt(now, *p, Evidence::refused);
    }
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

void Connection::Impl::doubt_after_stop(Instant now) {
    if (now < idle_deadline()) return;
    for (const auto& p : paths_.all()) doubt(now, *p, std::nullopt);
}

void Connection::Impl::doubt(Instant now, PathContext& p, std::optional<Evidence> evidence) {
    if (state_ != State::established || p.state != PathState::active) return;
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
