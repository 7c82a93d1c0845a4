// The handshake packets of one connection: reliable TLS bytes in CRYPTO frames, under the initial keys.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crypto/packet_protection.hpp"
#include "recovery/ack_tracker.hpp"
#include "recovery/loss_recovery.hpp"
#include "stream/recv_stream.hpp"
#include "stream/send_stream.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/lifecycle.hpp"
#include "wire/cursor.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

/// Order of calls: on a client, start(). Then on_packet(), on_timeout() and poll() in any order, until complete().
/// After discard(), it sends nothing and ignores everything.
class HandshakeLayer {
  public:
    struct Ids {
        ConnectionId original;  ///< destination id of the client's first packet; the initial keys come from it
        ConnectionId local;
        ConnectionId remote;  ///< client: the original until it knows the server's
    };
    HandshakeLayer(Role role, crypto::Provider& provider, std::unique_ptr<crypto::Handshake> tls, const Ids& ids,
                   std::uint32_t version);

    /// Client only. `proof` may replace a cookie.
    Result<void> start(std::vector<std::byte> proof);
    /// Client: the server does not speak version(). Sends everything again in another version.
    void change_version(std::uint32_t version);
    [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
    /// Server, before the first packet: the client's address is not proved. Until the client answers to this end's id,
    /// at most as many bytes are sent as came. `received`: bytes that came from there so far.
    void distrust_address(std::uint64_t received) { credit_ = received; }
    /// Opens and processes a HELLO or HANDSHAKE packet. false: it was not authentic or a duplicate, and was dropped. An
    /// error ends the connection.
    Result<bool> on_packet(Instant now, const wire::LongHeader& header, std::span<std::byte> datagram);
    /// Client: handles the server's cookie. It is ignored if it is not authentic or late.
    void on_retry(const wire::LongHeader& header, std::span<const std::byte> datagram);
    void on_timeout(Instant now);
    [[nodiscard]] std::optional<Instant> deadline() const;
    /// Sends everything again, because what was sent has not left this host.
    void send_again();
    /// The interface refused a datagram of this size. False: no smaller one may be sent.
    [[nodiscard]] bool on_too_large(std::size_t bytes);
    /// A router says that the path carries only datagrams of this size. If that is forged, the next ones are smaller than
    /// they could be.
    void on_told(std::size_t bytes) noexcept;
    /// The size of its padded datagrams. It falls if the interface refuses them, or if nothing comes back.
    [[nodiscard]] std::size_t datagram_bytes() const noexcept { return datagram_; }
    /// Writes one datagram and returns its size; 0: there is nothing to send.
    std::size_t poll(Instant now, std::span<std::byte> out) {
        const bool waits = ack_owed_ || probes_ > 0 || send_.pending(wire::kVarintMax);
        return waits ? write_packet(now, out, nullptr) : 0;
    }
    /// Writes a packet with a CLOSE frame, and with an ACK and the TLS alert if they are due.
    std::size_t make_close(Instant now, std::span<std::byte> out, const wire::CloseFrame& close) {
        return write_packet(now, out, &close);
    }
    /// Frees what only the handshake needed. tls() is gone after that.
    void discard();

    [[nodiscard]] bool complete() const { return stage_ == Stage::discarded || tls_->complete(); }
    [[nodiscard]] crypto::Handshake& tls() noexcept {
        assert(stage_ != Stage::discarded);
        return *tls_;
    }
    [[nodiscard]] ConnectionId remote_id() const noexcept { return ids_.remote; }
    /// The peer's CLOSE frame; nullopt until it arrives.
    [[nodiscard]] const std::optional<CloseReason>& closed_by_peer() const noexcept { return peer_close_; }
    /// An authentic packet of the peer has arrived.
    [[nodiscard]] bool heard() const noexcept { return stage_ != Stage::silent; }
    [[nodiscard]] const recovery::RttEstimator& rtt() const noexcept { return recovery_.rtt(); }

  private:
    enum class Stage : std::uint8_t {
        silent,     ///< nothing of the peer has arrived
        retried,    ///< client: the server's cookie has arrived
        heard,      ///< the peer's handshake has arrived; a client knows its connection id
        discarded,  ///< see discard()
    };
    static constexpr Step<Stage> kStages[] = {{Stage::silent, Stage::retried},
                                              {Stage::silent, Stage::heard},
                                              {Stage::retried, Stage::heard},
                                              {Stage::heard, Stage::discarded}};

    /// The client does not know the server's id yet: its packets are HELLOs.
    [[nodiscard]] bool says_hello() const noexcept { return role_ == Role::client && stage_ < Stage::heard; }
    Result<void> on_frame(Instant now, const wire::Frame& frame);
    Result<void> on_crypto(const wire::CryptoFrame& frame);
    void collect_output();
    void apply(const recovery::Outcome& outcome);
    void fill(Instant now, wire::Writer& out, recovery::SentPacket& packet);
    /// Writes a packet with `close`, if it is not null, and with what is due. Returns its size; 0: nothing to send.
    std::size_t write_packet(Instant now, std::span<std::byte> out, const wire::CloseFrame* close);
    [[nodiscard]] wire::LongHeader header(PacketNumber number) const;
    /// There is room for a datagram, and credit to send it.
    [[nodiscard]] bool may_send(std::span<const std::byte> out) const;

    Role role_;
    crypto::Provider& provider_;
    std::unique_ptr<crypto::Handshake> tls_;
    Ids ids_;
    std::uint32_t version_;
    crypto::InitialKeys keys_;
    std::vector<std::byte> token_;
    stream::SendStream send_;
    stream::Reassembler receive_;
    recovery::LossRecovery recovery_;
    recovery::AckTracker acks_;
    recovery::Outcome outcome_;
    std::optional<CloseReason> peer_close_;
    std::optional<std::uint64_t> credit_;  // bytes that may go to an unproved address; nullopt: it is proved
    std::size_t datagram_ = wire::kMinInitialDatagram;
    int silences_ = 0;  // timeouts of a client that has no authentic packet yet
    int probes_ = 0;    // packets to send even if nothing new waits
    bool ack_owed_ = false;
    Lifecycle<kStages> stage_{Stage::silent};
};

}  // namespace udtx::proto
