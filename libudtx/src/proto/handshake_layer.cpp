#include "proto/handshake_layer.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "base/release.hpp"
#include "proto/close_reason.hpp"
#include "wire/frame.hpp"

namespace udtx::proto {

namespace {
constexpr std::uint64_t kMaxCryptoBuffer = 64U << 10U;  // a flight of TLS 1.3 with certificates is far smaller
constexpr PathId kPath{0};
constexpr std::size_t kLeast = wire::kLeastInitialDatagram;
constexpr int kSilencesOfLarge = 4;  // random loss seldom takes as many flights
constexpr std::size_t kCryptoFrameHeader = 1 + 8 + 8;
}  // namespace

HandshakeLayer::HandshakeLayer(Role role, crypto::Provider& provider, std::unique_ptr<crypto::Handshake> tls,
                               const Ids& ids, std::uint32_t version)
    : role_(role),
      provider_(provider),
      tls_(std::move(tls)),
      ids_(ids),
      version_(version),
      keys_(crypto::derive_initial(provider, ids.original)),
      send_(wire::kVarintMax),
      recovery_(kSynInterval),
      acks_(kPath, kSynInterval) {}

Result<void> HandshakeLayer::start(std::vector<std::byte> proof) {
    assert(role_ == Role::client && stage_ == Stage::silent);
    token_ = std::move(proof);
    auto started = tls_->provide({});
    collect_output();
    return started;
}

void HandshakeLayer::change_version(std::uint32_t version) {
    if (!says_hello()) return;
    version_ = version;
    send_again();
}

void HandshakeLayer::collect_output() {
    const auto bytes = tls_->take_output();
    if (!bytes.empty()) send_.write(Chunk::copy_of(bytes));
}

Result<bool> HandshakeLayer::on_packet(Instant now, const wire::LongHeader& header, std::span<std::byte> datagram) {
    if (stage_ == Stage::discarded || header.version != version_ ||
        datagram.size() < header.header_bytes + wire::kTagBytes) {
        return false;
    }
    const PacketNumber number = header.packet_number;
    crypto::PacketKey& key = role_ == Role::client ? keys_.server : keys_.client;
    if (!key.aead->open(crypto::make_nonce(key.iv, kPath, number), datagram, header.header_bytes)) return false;
    if (says_hello()) {
        if (header.type != wire::LongType::handshake) return false;
        ids_.remote = header.source;
    }
    if (header.source != ids_.remote) return false;
    if (stage_ < Stage::heard) stage_.enter(Stage::heard);

    const std::size_t end = datagram.size() - wire::kTagBytes;
    wire::Reader in(std::span<const std::byte>(datagram).subspan(header.header_bytes, end - header.header_bytes));
    bool eliciting = false;
    if (!acks_.on_received(now, number, false)) return false;
    // This end's id was sent only to that address.
    if (header.type == wire::LongType::handshake && header.destination == ids_.local) credit_.reset();
    if (credit_) {
        // A client that starts again has received no answer. The server has no credit to send a flight on its own, and
        // an ACK alone would keep the client from asking again. Then both would wait for each other.
        *credit_ += datagram.size();
        send_again();
    }
    wire::AckFrame ack;
    while (!in.empty()) {
        const auto frame = wire::read_frame(in, ack);
        if (!frame) return frame.error();
        eliciting = eliciting || std::holds_alternative<wire::CryptoFrame>(*frame) ||
                    std::holds_alternative<wire::PingFrame>(*frame) ||
                    std::holds_alternative<wire::ExtensionFrame>(*frame);
        if (const auto ok = on_frame(now, *frame); !ok) return ok.error();
    }
    if (eliciting) {
        ack_owed_ = true;
        // The peer pads such packets to what it believes the path to carry.
        datagram_ = std::min(datagram_, std::max(datagram.size(), kLeast));
    }
    return true;
}

Result<void> HandshakeLayer::on_frame(Instant now, const wire::Frame& frame) {
    if (const auto* crypto = std::get_if<wire::CryptoFrame>(&frame)) return on_crypto(*crypto);
    if (const auto* ack = std::get_if<wire::AckFrameView>(&frame)) {
        outcome_.clear();
        const auto ok = recovery_.on_ack(now, *ack->frame, std::chrono::microseconds(ack->frame->delay_us), outcome_);
        if (ok) apply(outcome_);
        return ok;
    }
    if (const auto* close = std::get_if<wire::CloseFrame>(&frame)) {
        peer_close_ = close_reason_from_peer(*close);
        return {};
    }
    if (std::holds_alternative<wire::PaddingFrame>(frame) || std::holds_alternative<wire::PingFrame>(frame) ||
        std::holds_alternative<wire::ExtensionFrame>(frame)) {
        return {};
    }
    return Error{ErrorCode::protocol, "frame not allowed in a handshake packet"};
}

Result<void> HandshakeLayer::on_crypto(const wire::CryptoFrame& frame) {
    if (frame.offset + frame.data.size() > receive_.read_offset() + kMaxCryptoBuffer) {
        return Error{ErrorCode::protocol, "handshake message too large"};
    }
    receive_.insert(frame.offset, frame.data);
    std::array<std::byte, 4096> buffer;
    while (const std::size_t n = receive_.read(buffer)) {
        const auto ok = tls_->provide(std::span(buffer).first(n));
        collect_output();
        if (!ok) return ok;
    }
    return {};
}

void HandshakeLayer::on_retry(const wire::LongHeader& header, std::span<const std::byte> datagram) {
    if (!says_hello()) return;
    if (header.destination != ids_.local || header.token.empty()) return;
    if (!crypto::check_retry_tag(provider_, ids_.original, datagram)) return;
    token_.assign(header.token.begin(), header.token.end());
    // The first RETRY takes effect at once. A later one means that the cookie expired or was forged. Its token waits
    // for the next probe timeout, so that two ends that disagree do not drive each other.
    if (stage_ == Stage::retried) return;
    stage_.enter(Stage::retried);
    send_again();
}

void HandshakeLayer::send_again() {
    if (stage_ == Stage::discarded) return;
    outcome_.clear();
    recovery_.abandon(outcome_);
    apply(outcome_);
}

void HandshakeLayer::apply(const recovery::Outcome& outcome) {
    for (const auto& packet : outcome.acked) {
        for (std::size_t i = 0; i < packet.range_count; ++i) {
            send_.on_acked(packet.ranges[i].offset, packet.ranges[i].length, false);
        }
        if (recovery::has(packet.control, recovery::Control::ack)) acks_.on_ack_acknowledged(packet.ack_largest);
    }
    for (const auto& packet : outcome.lost) {
        for (std::size_t i = 0; i < packet.range_count; ++i) {
            send_.on_lost(packet.ranges[i].offset, packet.ranges[i].length, false);
        }
    }
}

bool HandshakeLayer::on_too_large(std::size_t bytes) {
    if (stage_ == Stage::discarded || bytes > datagram_) return true;  // a packet of earlier, or of another kind
    if (datagram_ == kLeast) return false;
    datagram_ = kLeast;
    if (credit_) *credit_ += bytes;
    send_again();
    return true;
}

void HandshakeLayer::on_told(std::size_t bytes) noexcept {
    if (says_hello() && bytes >= kLeast && bytes < datagram_) datagram_ = kLeast;
}

void HandshakeLayer::on_timeout(Instant now) {
    if (stage_ == Stage::discarded) return;
    outcome_.clear();
    recovery_.on_timeout(now, outcome_);
    if (outcome_.probe_timeout) {
        // Perhaps the path drops large packets, and no ICMP says so.
        if (says_hello() && ++silences_ >= kSilencesOfLarge) datagram_ = kLeast;
        // The few bytes of a handshake are sent again as a whole, because a flight is one or two datagrams.
        recovery_.abandon(outcome_);
        probes_ = 1;
    }
    apply(outcome_);
}

std::optional<Instant> HandshakeLayer::deadline() const {
    return stage_ == Stage::discarded ? std::nullopt : recovery_.deadline();
}

wire::LongHeader HandshakeLayer::header(PacketNumber number) const {
    wire::LongHeader h;
    h.type = says_hello() ? wire::LongType::hello : wire::LongType::handshake;
    h.version = version_;
    h.destination = ids_.remote;
    h.source = ids_.local;
    if (h.type == wire::LongType::hello) h.token = token_;
    h.packet_number = static_cast<std::uint32_t>(number);
    return h;
}

void HandshakeLayer::fill(Instant now, wire::Writer& out, recovery::SentPacket& packet) {
    if (wire::AckFrame ack; ack_owed_ && acks_.build(now, 16, ack) && wire::write_ack(out, ack)) {
        ack_owed_ = false;
        add(packet.control, recovery::Control::ack);
        packet.ack_largest = ack.largest();
    }
    if constexpr (kFuture) {
        if (send_.pending(wire::kVarintMax)) (void)wire::write_frame(out, wire::ExtensionFrame{kFutureFrame, {}});
    }
    while (packet.range_count < recovery::kMaxRanges && out.room() > kCryptoFrameHeader) {
        const auto piece = send_.next(out.room() - kCryptoFrameHeader, wire::kVarintMax);
        if (!piece || piece->length == 0) break;
        std::vector<std::byte> bytes(piece->length);
        send_.copy(piece->offset, bytes);
        if (!wire::write_frame(out, wire::CryptoFrame{piece->offset, bytes})) break;
        send_.on_sent(*piece);
        packet.ranges[packet.range_count++] = {
            .offset = piece->offset, .length = static_cast<std::uint32_t>(piece->length), .crypto = true};
        packet.ack_eliciting = true;
    }
    if (probes_ > 0 && !packet.ack_eliciting && wire::write_frame(out, wire::PingFrame{})) {
        add(packet.control, recovery::Control::ping);
        packet.ack_eliciting = true;
    }
}

bool HandshakeLayer::may_send(std::span<const std::byte> out) const {
    return stage_ != Stage::discarded && out.size() >= datagram_ && (!credit_ || *credit_ >= datagram_);
}

std::size_t HandshakeLayer::write_packet(Instant now, std::span<std::byte> out, const wire::CloseFrame* close) {
    if (!may_send(out)) return 0;
    recovery::SentPacket packet;
    packet.number = recovery_.next_number();
    const std::size_t header_bytes = wire::write_long_header(header(packet.number), out);
    wire::Writer w(out.subspan(header_bytes, datagram_ - header_bytes - wire::kTagBytes));
    if (close != nullptr && !wire::write_frame(w, *close)) return 0;
    fill(now, w, packet);
    if (w.size() == 0) return 0;
    if (close != nullptr) {
        if (says_hello()) w.zeros(w.room());
    } else {
        probes_ = std::max(0, probes_ - 1);
        packet.in_flight = packet.ack_eliciting;
        // Every flight is padded: the client's against amplification, both to test that the path carries such
        // datagrams.
        if (packet.ack_eliciting) w.zeros(w.room());
    }
    const std::size_t size = header_bytes + w.size() + wire::kTagBytes;
    crypto::PacketKey& key = role_ == Role::client ? keys_.client : keys_.server;
    key.aead->seal(crypto::make_nonce(key.iv, kPath, packet.number), out.first(size), header_bytes);
    packet.sent = now;
    packet.bytes = static_cast<std::uint32_t>(size);
    recovery_.on_sent(packet);
    if (credit_) *credit_ -= size;
    return size;
}

void HandshakeLayer::discard() {
    if (stage_ == Stage::discarded) return;
    stage_.enter(Stage::discarded);
    tls_.reset();
    keys_ = {};
    receive_ = {};
}

}  // namespace udtx::proto
