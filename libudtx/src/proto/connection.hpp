// One connection: a pure state machine. See the order of calls on the class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/chunk.hpp"
#include "base/rng.hpp"
#include "crypto/key_schedule.hpp"
#include "crypto/provider.hpp"
#include "proto/connection_types.hpp"
#include "proto/handshake_layer.hpp"
#include "proto/path_context.hpp"
#include "proto/stream_table.hpp"
#include "proto/transport_parameters.hpp"
#include "proto/types.hpp"
#include "udtx/config.hpp"
#include "udtx/stats.hpp"

namespace udtx::proto {

/// What an endpoint and its connections are given; all of it outlives them.
struct EndpointDeps {
    crypto::Provider* provider = nullptr;
    crypto::HandshakeFactory* handshakes = nullptr;
    Rng* rng = nullptr;
    /// AEAD speed on this machine, bytes/s by cipher; the handshake picks the one whose slower end is fastest.
    double aes_gcm_speed = 1.0;
    double chacha20_speed = 1.0;
};

/// Order of calls, for the driver:
///   1. After any call below (handle_*, or an application call), poll until dry: poll_event(), then poll_transmit()
///      until nullopt, then set the timer to poll_timeout().
///   2. When the timer fires: handle_timeout(now), then as 1. `now` never goes backwards.
/// The application's calls (streams, close) may come at any time between those, on the same thread.
class Connection {
  public:
    using ReadResult = proto::ReadResult;

    struct Setup {
        Role role = Role::client;
        ConnectionId local;     ///< ours, in packets that come to us
        ConnectionId remote;    ///< client: same as original; server: the client's
        ConnectionId original;  ///< destination of the client's first packet
        Address local_address;
        Address remote_address;
        /// Called whenever this connection may have something to be polled for.
        std::function<void()> on_touched{};
    };
    Connection(const EndpointDeps& deps, const TransportConfig& config, Setup setup, Instant now);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();

    // --- driver side
    void handle_datagram(Instant now, const RxDatagram& datagram);
    void handle_timeout(Instant now);
    /// Writes up to `max_segments` datagrams of one size back to back into `out`.
    [[nodiscard]] std::optional<Transmit> poll_transmit(Instant now, std::size_t max_segments,
                                                        std::span<std::byte> out);
    [[nodiscard]] std::optional<Instant> poll_timeout() const;
    [[nodiscard]] std::optional<Event> poll_event();
    /// The socket refused datagrams of this size (EMSGSIZE): smaller ones from now on.
    void on_datagram_too_large(Instant now, std::size_t bytes);

    // --- application side
    [[nodiscard]] Result<StreamId> open_stream(StreamKind kind);
    /// Bytes that write() would take now without growing the send buffer beyond TransportConfig::send_buffer.
    [[nodiscard]] std::uint64_t write_capacity(StreamId id);
    /// Queues a chunk (all of it, even beyond the capacity). The chunk is held until acknowledged.
    Result<void> write(StreamId id, Chunk chunk);
    /// No more bytes will be written; carries the final size.
    Result<void> finish(StreamId id);
    /// Ordered: copies up to out.size() in-order bytes; `end` is true when the stream's end was reached. After a
    /// Readable event, read until 0 bytes come: the next event comes only then.
    [[nodiscard]] ReadResult read(StreamId id, std::span<std::byte> out);
    /// Placed: where the pieces go. What came before it was set is handed over at once.
    void set_placed_sink(PlacedSink* sink);
    /// Placed: `bytes` handed over before have left memory (written to disk): credit for as many new ones.
    void release_placed(StreamId id, std::uint64_t bytes);
    void reset_stream(StreamId id, std::uint64_t code);
    void stop_receiving(StreamId id, std::uint64_t code);
    /// Application close. What was not acknowledged is given up; use StreamDelivered to know.
    void close(Instant now, std::uint64_t code, std::string reason);
    /// The endpoint has no room for one more: closes with a transport code, as Endpoint::listen() promised.
    void refuse(Instant now, std::string message);
    /// Changes the cap of what leaves.
    void set_max_rate(Rate rate);

    [[nodiscard]] bool connected() const noexcept { return state_ == State::established; }
    [[nodiscard]] bool drained() const noexcept { return state_ == State::drained; }  ///< may be destroyed
    [[nodiscard]] ConnectionStats stats() const;
    [[nodiscard]] const Address& remote() const noexcept { return path_.remote; }
    [[nodiscard]] Role role() const noexcept { return setup_.role; }
    [[nodiscard]] Instant started() const noexcept { return started_; }
    /// Something authentic has come from the peer.
    [[nodiscard]] bool heard() const noexcept { return handshake_.heard(); }
    [[nodiscard]] const Setup& setup() const noexcept { return setup_; }
    /// The endpoint is done with this connection; whoever still holds it may ask, but nothing moves any more.
    void forget_owner() noexcept { setup_.on_touched = nullptr; }

  private:
    enum class State : std::uint8_t { handshaking, established, closing, drained };

    // connection.cpp
    void touch() const;
    void fail(Instant now, const Error& error);
    void enter_closing(Instant now, wire::CloseFrame frame, CloseReason reason);
    void answer_close(Instant now, CloseReason reason);
    void end(CloseReason reason);
    void make_congestion_controller();
    Result<std::vector<std::byte>> select_parameters(std::span<const std::byte> client);
    [[nodiscard]] TransportParameters own_parameters() const;
    [[nodiscard]] Duration probe_interval() const;

    // connection_rx.cpp
    void on_long_packet(Instant now, const RxDatagram& datagram);
    void on_short_packet(Instant now, const RxDatagram& datagram);
    void after_handshake_packet(Instant now);
    Result<void> establish(Instant now);
    Result<void> on_payload(Instant now, std::span<const std::byte> payload, bool& eliciting);
    Result<void> on_frame(Instant now, const wire::Frame& frame);
    Result<void> on_ack(Instant now, const wire::AckFrame& frame);
    void on_close_answered(std::span<const std::byte> payload);
    void on_address_change(Instant now, const RxDatagram& datagram);
    void on_path_response(std::uint64_t value);
    void apply_outcome(Instant now, bool timeout);

    // connection_tx.cpp
    std::optional<Transmit> transmit_close(Instant now, std::span<std::byte> out);
    std::optional<Transmit> transmit_handshake(Instant now, std::span<std::byte> out);
    std::optional<Transmit> transmit_challenge(Instant now, std::span<std::byte> out);
    std::optional<Transmit> transmit_mtu_probe(Instant now, std::span<std::byte> out);
    std::optional<Transmit> transmit_data(Instant now, std::size_t max_segments, std::span<std::byte> out);
    [[nodiscard]] bool mtu_probe_allowed(std::uint32_t size) const;
    [[nodiscard]] bool wants_to_send() const;
    [[nodiscard]] bool train_due(Instant now) const;
    [[nodiscard]] bool pair_opens_here(Instant now) const;
    void fill_acks(Instant now, wire::Writer& out, recovery::SentPacket& packet);
    void fill_control(wire::Writer& out, recovery::SentPacket& packet);
    struct PacketPlan {
        std::size_t size = 0;    ///< at most so large
        bool eliciting = false;  ///< may carry what counts against the window
        bool pad = false;        ///< pad to `size`
        bool pair_second = false;
        bool mtu_probe = false;
        std::optional<std::uint64_t> challenge{};
        const wire::CloseFrame* close = nullptr;
    };
    std::size_t build_packet(Instant now, std::span<std::byte> out, const PacketPlan& plan);
    void maybe_update_keys();
    void maybe_skip_number();
    [[nodiscard]] Transmit transmit_of(std::size_t size, std::size_t segment) const;

    // connection_timers.cpp
    void on_idle(Instant now);
    void on_path_timeout(Instant now);
    [[nodiscard]] Instant idle_deadline() const;

    EndpointDeps deps_;
    const TransportConfig& config_;
    Setup setup_;
    State state_ = State::handshaking;
    std::deque<Event> events_;
    std::uint64_t congestion_seed_;

    TransportParameters peer_;
    HandshakeLayer handshake_;
    std::optional<crypto::SessionKeys> keys_;
    crypto::Cipher cipher_ = crypto::Cipher::aes_256_gcm;
    StreamTable streams_;
    PathContext path_;
    recovery::Outcome outcome_;
    CongestionFeedback congestion_feedback_;
    wire::AckFrame ack_scratch_;
    bool handshake_done_due_ = false;

    Instant started_;
    Instant last_received_;
    Instant last_sent_eliciting_;
    Rate max_rate_;
    Rate peer_rate_ = Rate::infinite();  // what the peer wants to receive at most

    std::string close_text_;
    wire::CloseFrame close_frame_;
    int close_sends_ = 0;
    bool peer_closed_ = false;  // ours is the answer
    Instant close_next_;
    Duration close_spacing_{};
    Instant drain_deadline_;
    std::optional<Instant> previous_keys_until_;
    std::uint64_t seen_key_updates_ = 0;
    std::uint64_t duplicate_packets_ = 0;
    std::uint64_t undecryptable_packets_ = 0;
};

}  // namespace udtx::proto
