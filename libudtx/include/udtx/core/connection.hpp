// One connection of the core: its calls, events, paths and streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "udtx/address.hpp"
#include "udtx/congestion.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/path.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"

namespace udtx::proto {

// Events that a connection reports to its program.

using udtx::CloseReason;

/// Events of a connection.
namespace event {

/// The handshake has finished. Streams may now carry data.
struct Connected {};
/// The peer has opened a stream.
struct StreamOpened {
    StreamId id;  ///< which stream
};
/// Ordered streams: read() will return bytes or the end.
struct Readable {
    StreamId id;  ///< which stream
};
/// write_capacity() was 0 and is now above 0.
struct Writable {
    StreamId id;  ///< which stream
};
/// Unordered streams: every byte has been passed to the program.
struct StreamReceived {
    StreamId id;             ///< which stream
    std::uint64_t size = 0;  ///< size of the stream, bytes
};
/// The peer has acknowledged all bytes of this end, and the end of the stream.
struct StreamDelivered {
    StreamId id;  ///< which stream
};
/// The peer aborted sending.
struct StreamReset {
    StreamId id;             ///< which stream
    std::uint64_t code = 0;  ///< code from the peer's program
};
/// The peer aborted receiving.
struct StreamStopped {
    StreamId id;             ///< which stream
    std::uint64_t code = 0;  ///< code from the peer's program
};
/// The peer's address has changed (NAT), and the new one is validated.
struct PeerMoved {
    PathId path;   ///< on which path
    Address from;  ///< the old address
    Address to;    ///< the new address
};
/// The state of a path has changed.
using PathChanged = PathEvent;
/// The connection has ended. This is the last event.
struct Closed {
    CloseReason reason;  ///< why
};

}  // namespace event

/// Any event.
using Event = std::variant<event::Connected, event::StreamOpened, event::Readable, event::Writable,
                           event::StreamReceived, event::StreamDelivered, event::StreamReset, event::StreamStopped,
                           event::PeerMoved, event::PathChanged, event::Closed>;

// Addresses and options of paths.

/// How a path is used. The side that connects decides.
struct PathOptions {
    bool standby = false;               ///< true: the path carries stream bytes only while no other path works
    double weight = 1.0;                ///< share of the data with the scheduler `weighted`; above 0
    std::uint32_t interface_index = 0;  ///< outgoing interface; 0: the routing table decides
};

/// The two addresses of a path.
struct PathAddresses {
    Address local;        ///< local address, without a port for UDP; Family::none: the routing table decides
    Address remote;       ///< address of the peer
    PathOptions options;  ///< how the path is used
    /// Time after which a candidate is tried.
    Duration after{};
    /// True if a datagram that `at` received from `peer` may have taken this path. An unknown local address matches
    /// any.
    [[nodiscard]] bool matches(const Address& at, const Address& peer) const noexcept {
        if (remote.carrier != Carrier::udp) return remote == peer && local == at;
        const bool unknown = local.family == Address::Family::none || at.family == Address::Family::none;
        return remote == peer && (unknown || (local.family == at.family && local.ip == at.ip));
    }
};

// How a connection passes the bytes of streams to its program.

/// The result of Connection::read().
struct ReadResult {
    std::size_t bytes = 0;  ///< number of bytes copied
    bool end = false;       ///< true: the end of the stream was reached
};

/// The result of Connection::read_chunk().
struct ReadChunk {
    Chunk chunk;       ///< the next bytes
    bool end = false;  ///< true: the end of the stream was reached
};

/// Receives pieces of unordered streams as soon as their packet is decrypted. It gets each byte of a stream once.
class UDTX_EXPORT PieceSink {
  public:
    virtual ~PieceSink() = default;
    /// Receives one piece. `bytes` are valid only during the call.
    virtual void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

// One connection of an Endpoint: a state machine without I/O, clock or random source.

/// Signs that the peer no longer exists.
enum class Evidence : std::uint8_t {
    refused,  ///< an ICMP "port unreachable" arrived from the peer's address
    exited,   ///< the program that started the peer reports its exit
    reset,    ///< a server that does not know this connection sent the peer's token (stateless reset)
};

/// A connection that an Endpoint made. The endpoint sends and receives for it. Call it only on the endpoint's thread,
/// and poll the endpoint after each call. The endpoint releases a connection once it is drained(). Other owners may
/// then still query it, but its state no longer changes.
class UDTX_EXPORT Connection {
    class Impl;

  public:
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Returns the next event; nullopt: no event is pending. event::Closed is the last event.
    [[nodiscard]] std::optional<Event> poll_event();

    // --- streams
    /// Opens a stream. invalid_argument: the handshake has not finished. refused: the peer accepts no more streams at
    /// present.
    [[nodiscard]] Result<StreamId> open_stream(StreamKind kind);
    /// Returns how many bytes should be written now. The result keeps the unacknowledged bytes within
    /// TransportConfig::send_buffer and `unacked`, and the unsent bytes within a useful amount. After a result of 0,
    /// event::Writable reports when to ask again.
    [[nodiscard]] std::uint64_t write_capacity(StreamId id, std::uint64_t unacked = UINT64_MAX);
    /// Queues a whole chunk, even beyond write_capacity(). Holds the chunk until it is acknowledged.
    Result<void> write(StreamId id, Chunk chunk);
    /// Ends the sending direction of this end.
    Result<void> finish(StreamId id);
    /// Ordered streams: copies the next bytes, up to out.size(). After event::Readable, read until a call returns 0
    /// bytes. Only then another event::Readable follows.
    [[nodiscard]] ReadResult read(StreamId id, std::span<std::byte> out);
    /// read() without copying: returns the next bytes in the memory where the connection stored them.
    [[nodiscard]] ReadChunk read_chunk(StreamId id);
    /// Unordered streams: sets the receiver of pieces. Pieces that arrived earlier are passed to it at once. `sink`
    /// must live as long as the connection receives.
    void set_piece_sink(PieceSink* sink);
    /// Unordered streams: reports that `bytes` of the passed data no longer occupy memory, for example because they are
    /// on disk. The peer gets as much credit.
    void release_pieces(StreamId id, std::uint64_t bytes);
    /// Aborts sending. The peer gets event::StreamReset with this code.
    void reset_stream(StreamId id, std::uint64_t code);
    /// Aborts receiving. The peer gets event::StreamStopped with this code.
    void stop_receiving(StreamId id, std::uint64_t code);
    /// Bytes that all streams hold: received but not read, or written but not acknowledged.
    [[nodiscard]] std::uint64_t held_bytes() const;

    // --- paths and rates
    /// Requests another path. Only the side that connected may call it, after the handshake. The port of `local` is
    /// ignored. event::PathChanged reports the result.
    Result<PathId> add_path(Instant now, const Address& local, const Address& remote, const PathOptions& options);
    /// Client: tries another address, too, if the peer has not replied yet. Otherwise the call has no effect.
    void add_candidate(Instant now, const PathAddresses& candidate);
    /// Removes a path. refused: no other path works.
    Result<void> remove_path(Instant now, PathId id);
    /// Passes on what an earlier connection measured of this path (PathStats::known). It must have been to the same
    /// peer_key() and between the same two addresses.
    void recall(PathId id, const KnownPath& known);
    /// Changes the cap of the sending rate (TransportConfig::max_rate). No effect unless the rate is above zero
    /// (may_cap()).
    void set_max_rate(Rate rate);
    /// Changes the peer's receive limit that this end obeys. The handshake set its first value. No effect unless the
    /// rate is above zero.
    void set_peer_rate(Rate rate);
    /// Sets a third cap of the sending rate, in addition to TransportConfig::max_rate and the peer's limit. It is this
    /// connection's share of a rate that several connections share. No effect unless the rate is above zero.
    void set_group_rate(Rate rate);

    // --- the end
    /// Ends the connection with an application code; 0: success. Unacknowledged bytes are dropped, see
    /// event::StreamDelivered.
    void close(Instant now, std::uint64_t code, std::string reason);
    /// Ends the connection because the endpoint is full, see Endpoint::listen().
    void refuse(Instant now, std::string message);
    /// Ends the connection after a call on it threw an exception. The code is `network` if memory or another system
    /// resource is lacking, else `internal` with what() of the exception. The peer is notified at once, or as soon as
    /// memory allows it. The connection ignores further datagrams, because the last one may be half processed.
    void give_up(Instant now, const std::exception& thrown) noexcept;
    /// Probes on each path whether the peer still exists. If there is no reply on a path, the path is suspended if
    /// another one works. Otherwise the connection ends with `timeout`.
    void suspect(Instant now, Evidence evidence);
    /// Reports an ICMP "port unreachable" from `remote`.
    void on_refused(Instant now, const Address& remote);
    /// Reports an ICMP "fragmentation needed" or "packet too big" for `remote`: datagrams of this size pass. Probes
    /// decide whether it is true (RFC 8899, section 4.6.2).
    void on_size_told(const Address& remote, std::uint32_t bytes);

    // --- state
    [[nodiscard]] bool connected() const noexcept;  ///< true: the handshake has finished
    /// True: the connection is over and no longer sends or processes anything.
    [[nodiscard]] bool drained() const noexcept;
    [[nodiscard]] Role role() const noexcept;        ///< which end this is
    [[nodiscard]] Instant started() const noexcept;  ///< when the connection was made
    [[nodiscard]] bool heard() const noexcept;       ///< true: an authenticated packet of the peer has arrived
    [[nodiscard]] ConnectionStats stats() const;     ///< statistics of the connection and of each path
    /// The peer's address on the oldest open path.
    [[nodiscard]] const Address& remote() const noexcept;
    /// See crypto::Handshake::peer_key(). Empty before connected() is true.
    [[nodiscard]] std::span<const std::byte> peer_key() const noexcept;
    /// TCP ports on which the peer listens, too. Empty before connected() is true.
    [[nodiscard]] std::span<const std::uint16_t> peer_tcp_ports() const noexcept;
    /// The connection id in packets to this end.
    [[nodiscard]] ConnectionId local_id() const noexcept;
    /// The connection id in packets to the peer. A client makes it up until the server's first packet arrives.
    [[nodiscard]] ConnectionId remote_id() const noexcept;
    /// Client: the addresses that it tries; empty after the first reply.
    [[nodiscard]] std::span<const PathAddresses> candidates() const noexcept;

  private:
    friend class Endpoint;
    explicit Connection(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::proto
