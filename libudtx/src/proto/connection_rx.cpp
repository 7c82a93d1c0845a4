// What a connection does with a datagram.
#include <algorithm>
#include <utility>

#include "crypto/wipe.hpp"
#include "proto/close_reason.hpp"
#include "proto/connection.hpp"
#include "wire/codec.hpp"

namespace udtx::proto {

namespace {

/// Then it answers something that was damaged on the way (RFC 9000, section 6.2).
bool lists_our_version(const wire::LongHeader& header, std::span<const std::byte> datagram) {
    wire::Reader in(datagram.subspan(header.header_bytes));
    for (auto version = in.u32(); version; version = in.u32()) {
        if (*version == wire::kVersion) return true;
    }
    return false;
}

}  // namespace

void Connection::handle_datagram(Instant now, const RxDatagram& datagram) {
    if (state_ == State::drained) return;
    touch();
    if (wire::is_long_header(datagram.data)) {
        on_long_packet(now, datagram);
    } else if (keys_) {
        on_short_packet(now, datagram);
    }
}

void Connection::on_long_packet(Instant now, const RxDatagram& datagram) {
    const auto header = wire::parse_long_header(datagram.data);
    if (!header || state_ == State::closing) return;
    if (header->type == wire::LongType::retry) {
        handshake_.on_retry(*header, datagram.data);
        return;
    }
    if (header->type == wire::LongType::version_negotiation) {
        if (setup_.role == Role::client && !handshake_.heard() && !lists_our_version(*header, datagram.data)) {
            fail(now, {ErrorCode::protocol,
                       "the peer speaks another version of udtx; install the same release on both ends"});
        }
        return;
    }
    const auto authentic = handshake_.on_packet(now, *header, datagram.data);
    if (!authentic) {
        fail(now, authentic.error());
        return;
    }
    if (!*authentic) return;
    last_received_ = now;
    if (path_.local.family == Address::Family::none) path_.local = datagram.local;
    after_handshake_packet(now);
}

void Connection::after_handshake_packet(Instant now) {
    if (handshake_.closed_by_peer() && !keys_) {
        end(*handshake_.closed_by_peer());
        return;
    }
    if (!keys_ && handshake_.complete()) {
        if (const auto ok = establish(now); !ok) fail(now, ok.error());
    }
}

Result<void> Connection::establish(Instant now) {
    const auto peer = decode_parameters(handshake_.tls().peer_parameters());
    if (!peer) return peer.error();
    peer_ = *peer;
    if (peer_.receive_rate > 0) {
        peer_rate_ = Rate::bits_per_second(static_cast<double>(peer_.receive_rate));
        set_max_rate(max_rate_);
    }
    const auto cipher = setup_.role == Role::server ? choose_cipher(own_parameters(), peer_)
                                                    : Result<crypto::Cipher>(static_cast<crypto::Cipher>(peer_.cipher));
    if (!cipher) return cipher.error();
    if (*cipher != crypto::Cipher::aes_256_gcm && *cipher != crypto::Cipher::chacha20_poly1305) {
        return Error{ErrorCode::protocol, "the peer chose an unknown cipher"};
    }
    cipher_ = *cipher;
    auto secret = handshake_.tls().export_secret(crypto::kPacketKeysLabel);
    if (!secret) return secret.error();
    keys_.emplace(*deps_.provider, cipher_, setup_.role, *secret);
    crypto::wipe(std::as_writable_bytes(std::span(*secret)));
    streams_.set_peer_limits(peer_.connection_window, peer_.stream_window, peer_.max_streams);
    const auto largest = static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.max_datagram, peer_.max_datagram));
    path_.mtu = path::MtuSearch(config_.min_datagram, std::max(config_.min_datagram, largest));
    state_ = State::established;
    last_received_ = now;
    events_.push_back(event::Connected{});
    if (setup_.role == Role::server) {
        handshake_done_due_ = true;
        handshake_.discard();
    }
    return {};
}

void Connection::on_short_packet(Instant now, const RxDatagram& datagram) {
    const auto header = wire::parse_short_header(datagram.data);
    if (!header || header->path != path_.id || datagram.data.size() < wire::kShortHeaderBytes + wire::kTagBytes) return;
    const PacketNumber expected = path_.acks.largest() ? *path_.acks.largest() + 1 : 0;
    const PacketNumber number = wire::expand_packet_number(header->packet_number, expected);
    if (!path_.replay.check(number)) {
        ++duplicate_packets_;
        return;
    }
    if (!keys_->open(header->path, number, header->key_phase, datagram.data, wire::kShortHeaderBytes)) {
        ++undecryptable_packets_;
        if (keys_->forgery_limit_reached()) fail(now, {ErrorCode::protocol, "too many forged packets"});
        return;
    }
    path_.replay.mark(number);
    last_received_ = now;
    ++path_.received_packets;
    path_.received_bytes += datagram.data.size();
    const std::size_t end = datagram.data.size() - wire::kTagBytes;
    const auto payload =
        std::span<const std::byte>(datagram.data).subspan(wire::kShortHeaderBytes, end - wire::kShortHeaderBytes);
    if (state_ == State::closing) {
        on_close_answered(payload);
        return;
    }
    const bool newest = !path_.acks.largest() || number > *path_.acks.largest();
    if (newest && datagram.remote != path_.remote) on_address_change(now, datagram);

    const Instant arrival = std::min(now, datagram.received.value_or(now));
    path_.pairs.on_arrival(
        {arrival, number, static_cast<std::uint32_t>(datagram.data.size()), header->pair_second, datagram.coalesced});
    bool eliciting = false;
    if (const auto ok = on_payload(now, payload, eliciting); !ok) {
        fail(now, ok.error());
        return;
    }
    path_.acks.on_received(arrival, number, eliciting);
    if (path_.recovery.overgrown()) fail(now, {ErrorCode::protocol, "the peer sends but acknowledges nothing"});
}

/// The peer's CLOSE, be it the answer to ours or its own: both ends know.
void Connection::on_close_answered(std::span<const std::byte> payload) {
    if (peer_closed_) return;
    wire::Reader in(payload);
    while (!in.empty()) {
        const auto frame = wire::read_frame(in, ack_scratch_);
        if (!frame) return;
        if (std::holds_alternative<wire::CloseFrame>(*frame)) state_ = State::drained;
    }
}

Result<void> Connection::on_payload(Instant now, std::span<const std::byte> payload, bool& eliciting) {
    wire::Reader in(payload);
    path_.feedback.reset();
    if (in.empty()) return Error{ErrorCode::protocol, "packet without frames"};
    while (!in.empty()) {
        const auto frame = wire::read_frame(in, ack_scratch_);
        if (!frame) return frame.error();
        const bool quiet = std::holds_alternative<wire::AckFrameView>(*frame) ||
                           std::holds_alternative<wire::RateFeedbackFrame>(*frame) ||
                           std::holds_alternative<wire::PaddingFrame>(*frame) ||
                           std::holds_alternative<wire::CloseFrame>(*frame);
        eliciting = eliciting || !quiet;
        if (const auto ok = on_frame(now, *frame); !ok) return ok;
        if (state_ == State::closing) return {};
    }
    return {};
}

Result<void> Connection::on_frame(Instant now, const wire::Frame& frame) {
    struct Visitor {
        Connection& c;
        Instant now;
        Result<void> operator()(const wire::PaddingFrame&) const { return {}; }
        Result<void> operator()(const wire::PingFrame&) const { return {}; }
        Result<void> operator()(const wire::AckFrameView& f) const { return c.on_ack(now, *f.frame); }
        Result<void> operator()(const wire::CryptoFrame&) const {
            return Error{ErrorCode::protocol, "handshake bytes after the handshake"};
        }
        Result<void> operator()(const wire::StreamFrame& f) const { return c.streams_.on_stream(f); }
        Result<void> operator()(const wire::MaxDataFrame& f) const {
            c.streams_.on_max_data(f.limit);
            return {};
        }
        Result<void> operator()(const wire::MaxStreamDataFrame& f) const { return c.streams_.on_max_stream_data(f); }
        Result<void> operator()(const wire::MaxStreamsFrame& f) const {
            c.streams_.on_max_streams(f.limit);
            return {};
        }
        Result<void> operator()(const wire::ResetStreamFrame& f) const { return c.streams_.on_reset(f); }
        Result<void> operator()(const wire::StopSendingFrame& f) const { return c.streams_.on_stop(f); }
        Result<void> operator()(const wire::RateFeedbackFrame& f) const {
            if (f.path == c.path_.id) c.path_.feedback = f;
            return {};
        }
        Result<void> operator()(const wire::PathChallengeFrame& f) const {
            c.path_.response_due = f.data;
            return {};
        }
        Result<void> operator()(const wire::PathResponseFrame& f) const {
            c.on_path_response(f.data);
            return {};
        }
        Result<void> operator()(const wire::HandshakeDoneFrame&) const {
            if (c.setup_.role == Role::server) return Error{ErrorCode::protocol, "HANDSHAKE_DONE from a client"};
            c.handshake_.discard();
            return {};
        }
        Result<void> operator()(const wire::CloseFrame& f) const {
            c.answer_close(now, close_reason_from_peer(f));
            return {};
        }
    };
    return std::visit(Visitor{*this, now}, frame);
}

Result<void> Connection::on_ack(Instant now, const wire::AckFrame& frame) {
    if (frame.path != path_.id) return Error{ErrorCode::protocol, "acknowledgement for a path that does not exist"};
    outcome_.clear();
    const Duration delay = std::min<Duration>(
        std::chrono::microseconds(std::min<std::uint64_t>(frame.delay_us, 1000000)), std::chrono::seconds(1));
    const auto ok = path_.recovery.on_ack(now, frame, delay, outcome_);
    if (!ok) return ok;
    keys_->on_acked(path_.id, frame.largest());
    apply_outcome(now, false);
    path_.feedback.reset();
    return {};
}

void Connection::apply_outcome(Instant now, bool timeout) {
    CongestionFeedback& fb = congestion_feedback_;
    std::vector<CongestionLost> lost = std::move(fb.lost);  // keep their capacity
    std::vector<ArrivalSample> arrivals = std::move(fb.arrivals);
    lost.clear();
    arrivals.clear();
    fb = CongestionFeedback{};
    fb.lost = std::move(lost);
    fb.arrivals = std::move(arrivals);
    fb.now = now;
    const std::uint32_t datagram_bytes = path_.mtu.current();
    for (const auto& packet : outcome_.acked) {
        fb.largest_acked = packet.number;
        if (packet.mtu_probe) {
            path_.mtu.on_probe_acked(now, packet.bytes);
        } else if (packet.in_flight) {
            path_.mtu.on_acked(now, packet.number, packet.bytes);
        }
        if (has(packet.control, recovery::Control::ack)) path_.acks.on_ack_acknowledged(packet.ack_largest);
        streams_.on_acked(packet);
    }
    for (const auto& packet : outcome_.lost) {
        if (packet.mtu_probe) {
            path_.mtu.on_probe_lost(now, packet.bytes);
            continue;
        }
        ++path_.lost_packets;
        path_.mtu.on_lost(packet.sent, packet.number, packet.bytes, path_.recovery.probe_timeout());
        fb.lost.push_back({packet.number, packet.bytes, packet.sent});
        streams_.on_lost(packet);
        if (has(packet.control, recovery::Control::handshake_done)) handshake_done_due_ = true;
    }
    if (path_.mtu.current() != datagram_bytes) path_.congestion->on_mtu(path_.mtu.current());
    path_.spurious_losses += outcome_.spurious;
    fb.acked_bytes = outcome_.acked_bytes;
    fb.acked_packets = outcome_.acked_packets;
    fb.largest_sent = path_.recovery.next_number() == 0 ? 0 : path_.recovery.next_number() - 1;
    fb.in_flight_before = outcome_.in_flight_before;
    fb.in_flight_after = path_.recovery.in_flight();
    fb.rtt_sample = outcome_.rtt_sample;
    fb.smoothed_rtt = path_.recovery.rtt().smoothed();
    fb.rtt_variance = path_.recovery.rtt().variance();
    fb.min_rtt = path_.recovery.rtt().minimum();
    fb.delivery = outcome_.delivery;
    fb.free_window = streams_.free_window();
    fb.application_limited = outcome_.delivery && outcome_.delivery->application_limited;
    fb.persistent_timeout = timeout;
    if (path_.feedback && !timeout) {
        const auto& f = *path_.feedback;
        fb.rate = RateFeedback{static_cast<double>(f.arrival_pps), static_cast<double>(f.capacity_pps),
                               std::chrono::nanoseconds(f.pair_gap_ns), f.pair_bytes, static_cast<double>(f.line_pps)};
        const RateFeedback pair = fb.rate->pair_gap > Duration::zero() ? *fb.rate : path_.last_feedback;
        path_.last_feedback = *fb.rate;
        path_.last_feedback.pair_gap = pair.pair_gap;
        path_.last_feedback.pair_bytes = pair.pair_bytes;
        const Duration largest_time = std::chrono::microseconds(f.receive_time_us);
        for (ArrivalSample sample : outcome_.arrivals) {
            sample.delay += largest_time;
            fb.arrivals.push_back(sample);
        }
        if (outcome_.largest_newly_acked) {
            fb.one_way_delay = Instant(largest_time) - outcome_.largest_sent_time;
        }
    }
    path_.congestion->on_feedback(fb);
    if (outcome_.acked_bytes > 0) path_.probes = 0;
}

void Connection::on_address_change(Instant now, const RxDatagram& datagram) {
    path_.validator.on_packet_from(now, datagram.local, datagram.remote, datagram.data.size(), deps_.rng->next_u64());
}

void Connection::on_path_response(std::uint64_t value) {
    if (!path_.validator.on_response(value)) return;
    const Address from = path_.remote;
    const bool host_moved = from.ip != path_.validator.remote().ip || from.family != path_.validator.remote().family;
    path_.remote = path_.validator.remote();
    path_.local = path_.validator.local();
    path_.validator.clear();
    if (host_moved) {
        // Another network: what was learned of the old one says nothing (RFC 9000, section 9.4).
        path_.recovery.reset_rtt();
        path_.mtu.restart();
        make_congestion_controller();
    }
    events_.push_back(event::PeerMoved{from, path_.remote});
}

}  // namespace udtx::proto
