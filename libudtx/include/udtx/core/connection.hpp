// One connection of an Endpoint: a state machine without I/O, clock or randomness of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "udtx/address.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/core/event.hpp"
#include "udtx/core/path.hpp"
#include "udtx/core/stream.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/time.hpp"

namespace udtx::proto {

/// Signs that the peer has ended.
enum class Evidence : std::uint8_t {
    refused,  ///< ICMP "port unreachable" came from its address
    exited,   ///< the program that started the peer says so
    reset,    ///< a server without this connection sent the token of the peer (stateless reset)
};

/// A connection that an Endpoint has made, and for which it sends and receives. Call it on the thread of the endpoint,
/// and poll the endpoint after each call. The endpoint lets a connection go once it is drained(); whoever holds it
/// longer may still ask it, but nothing moves any more.
class UDTX_EXPORT Connection {
    class Impl;

  public:
    /// For the library's own code.
    explicit Connection(std::unique_ptr<Impl> impl);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// The next event; nullopt: there is none. event::Closed is the last.
    [[nodiscard]] std::optional<Event> poll_event();

    // --- streams
    /// Opens a stream. invalid_argument: there is no connection yet; refused: the peer takes no more streams at
    /// present.
    [[nodiscard]] Result<StreamId> open_stream(StreamKind kind);
    /// Bytes that should be written now, so that no more than TransportConfig::send_buffer and `unacked` bytes wait for
    /// their acknowledgement, and no more wait to be sent than is of use. After 0, event::Writable tells when to ask
    /// again.
    [[nodiscard]] std::uint64_t write_capacity(StreamId id, std::uint64_t unacked = UINT64_MAX);
    /// Queues all of a chunk, even beyond write_capacity(). Holds the chunk until it is acknowledged.
    Result<void> write(StreamId id, Chunk chunk);
    /// Ends our direction.
    Result<void> finish(StreamId id);
    /// Ordered: copies the next bytes, up to out.size(). After event::Readable read until 0 bytes come: only then there
    /// will be another event.
    [[nodiscard]] ReadResult read(StreamId id, std::span<std::byte> out);
    /// As read(), without copying: the next bytes in the memory that the connection has put them in.
    [[nodiscard]] ReadChunk read_chunk(StreamId id);
    /// Placed: where pieces go. Those that came before are handed over at once. `sink` lives as long as
    /// the connection receives.
    void set_placed_sink(PlacedSink* sink);
    /// Placed: `bytes` that were handed over have left memory, to a disk for example: the peer gets credit for as many.
    void release_placed(StreamId id, std::uint64_t bytes);
    /// Gives up sending. The peer gets event::StreamReset with this code.
    void reset_stream(StreamId id, std::uint64_t code);
    /// Gives up receiving. The peer gets event::StreamStopped with this code.
    void stop_receiving(StreamId id, std::uint64_t code);
    /// Bytes of all streams that are held: received and not read, or written and not acknowledged.
    [[nodiscard]] std::uint64_t held_bytes() const;

    // --- paths and rates
    /// Side that dialled, once connected: asks for one more path. The port of `local` does not count.
    /// event::PathChanged tells what becomes of it.
    Result<PathId> add_path(Instant now, const Address& local, const Address& remote, const PathOptions& options);
    /// Removes a path. refused: no other path works.
    Result<void> remove_path(Instant now, PathId id);
    /// Changes the cap of what is sent (TransportConfig::max_rate). No effect if it is not above zero (may_cap()).
    void set_max_rate(Rate rate);
    /// Changes what the peer wants to receive at most. At first it is what it said in the handshake. No effect
    /// if it is not above zero.
    void set_peer_rate(Rate rate);
    /// Sets a third cap of what is sent, beside TransportConfig::max_rate and the peer's: this connection's share of a
    /// rate that several connections have in common. No effect if it is not above zero.
    void set_group_rate(Rate rate);

    // --- the end
    /// Ends the connection with the code of a program; 0: in good order. Bytes that are not acknowledged are given up,
    /// see event::StreamDelivered.
    void close(Instant now, std::uint64_t code, std::string reason);
    /// Ends it since there is no room for it, see Endpoint::listen().
    void refuse(Instant now, std::string message);
    /// Ends it since a call for it has thrown: with `network` where memory or another resource of the system is
    /// lacking, else with `internal` and what() of the exception. It tells the peer at once, or as soon as there is
    /// memory for that. It ignores what comes, since the last datagram may have been processed by half.
    void give_up(Instant now, const std::exception& thrown) noexcept;
    /// Asks the peer whether it is there. If it stays silent, the connection ends, or where other paths work, the path.
    void suspect(Instant now, Evidence evidence);
    /// ICMP "port unreachable" came from `remote`.
    void on_refused(Instant now, const Address& remote);

    // --- how it stands
    [[nodiscard]] bool connected() const noexcept;   ///< the handshake has finished
    [[nodiscard]] bool drained() const noexcept;     ///< it is over: nothing is sent or processed any more
    [[nodiscard]] Role role() const noexcept;        ///< which end this is
    [[nodiscard]] Instant started() const noexcept;  ///< when it was made
    [[nodiscard]] bool heard() const noexcept;       ///< an authentic packet has come from the peer
    [[nodiscard]] ConnectionStats stats() const;     ///< figures of the connection and of each path
    /// Address of the peer on the oldest open path.
    [[nodiscard]] const Address& remote() const noexcept;
    /// See crypto::Handshake::peer_key(). Empty before connected().
    [[nodiscard]] std::span<const std::byte> peer_key() const noexcept;
    /// The id in packets that come to this end.
    [[nodiscard]] ConnectionId local_id() const noexcept;
    /// The id in packets that go to the peer. A client makes it up until it has heard the server.
    [[nodiscard]] ConnectionId remote_id() const noexcept;
    /// Client: the ways that it dials in turn while nothing has come back; empty: there is only one.
    [[nodiscard]] std::span<const PathAddresses> alternatives() const noexcept;

  private:
    friend class Endpoint;
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::proto
