// One connection of an Endpoint: a pure state machine, without I/O, clock or randomness of its own.
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

/// What speaks for the peer's end.
enum class Evidence : std::uint8_t {
    refused,  ///< ICMP "port unreachable" came from its address
    exited,   ///< who started the peer's program says that it has ended
    reset,    ///< a server without this connection showed the token that the peer gave us
};

/// Made by an Endpoint, which sends and receives for it. All calls come on the thread of the endpoint; after each the
/// endpoint wants to be polled (see there). Only its own drained() connections does an endpoint let go; whoever holds
/// one longer may still ask, but nothing moves any more.
class UDTX_EXPORT Connection {
    class Impl;

  public:
    explicit Connection(std::unique_ptr<Impl> impl);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// What happened, in order; nullopt: nothing more. event::Closed is the last one.
    [[nodiscard]] std::optional<Event> poll_event();

    // --- streams
    /// invalid_argument: not connected; refused: the peer takes no more at present.
    [[nodiscard]] Result<StreamId> open_stream(StreamKind kind);
    /// Bytes that write() would take now without growing what is not acknowledged beyond TransportConfig::send_buffer
    /// and `unacked`, or what waits to be sent beyond use. Where it is 0 event::Writable tells when to ask again.
    [[nodiscard]] std::uint64_t write_capacity(StreamId id, std::uint64_t unacked = UINT64_MAX);
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
    /// Gives up sending; the peer gets event::StreamReset with the application's code.
    void reset_stream(StreamId id, std::uint64_t code);
    /// Gives up receiving; the peer gets event::StreamStopped with the application's code.
    void stop_receiving(StreamId id, std::uint64_t code);
    /// Memory of the streams' bytes: of the peer's those that nobody has read, of ours those that it has not
    /// acknowledged.
    [[nodiscard]] std::uint64_t held_bytes() const;

    // --- paths and rates
    /// The end that dialled, once connected: asks for one more path between these addresses; of `local` no more than
    /// the host need be set. Event PathChanged tells what becomes of it.
    Result<PathId> add_path(Instant now, const Address& local, const Address& remote, const PathOptions& options);
    /// Gives a path up for good; another one must be there to carry on.
    Result<void> remove_path(Instant now, PathId id);
    /// Changes the cap of what leaves: ours ...
    void set_max_rate(Rate rate);
    /// ... and what the peer wants to receive at most, which it said in the handshake first.
    void set_peer_rate(Rate rate);

    // --- the end
    /// Application close; code 0 is an orderly end. What was not acknowledged is given up; use StreamDelivered to know.
    void close(Instant now, std::uint64_t code, std::string reason);
    /// There is no room for one more: closes with a transport code, as Endpoint::listen() promised.
    void refuse(Instant now, std::string message);
    /// What it needs, such as memory, is not to be had: refuses, at once or as soon as there is memory for that.
    /// Nothing that comes is looked at any more, for the last datagram may have been taken in by half.
    void give_up(Instant now, const std::exception& lack) noexcept;
    /// There are signs that the peer is gone. They count when it stays silent although it is asked; of several paths
    /// that are not all silent, it is the path's end.
    void suspect(Instant now, Evidence evidence);
    /// ICMP "port unreachable" came from there.
    void on_refused(Instant now, const Address& remote);

    // --- how it stands
    [[nodiscard]] bool connected() const noexcept;
    [[nodiscard]] bool drained() const noexcept;  ///< over: nothing leaves or is listened to any more
    [[nodiscard]] Role role() const noexcept;
    [[nodiscard]] Instant started() const noexcept;
    /// Something authentic has come from the peer.
    [[nodiscard]] bool heard() const noexcept;
    [[nodiscard]] ConnectionStats stats() const;
    /// Of the oldest path that is open.
    [[nodiscard]] const Address& remote() const noexcept;
    /// See crypto::Handshake::peer_key(); empty before the connection is established.
    [[nodiscard]] std::span<const std::byte> peer_key() const noexcept;
    /// In packets that come to us.
    [[nodiscard]] ConnectionId local_id() const noexcept;
    /// In packets that go to the peer. A client makes one up until it has heard the server.
    [[nodiscard]] ConnectionId remote_id() const noexcept;
    /// Client: where it dials in turn while nothing has come back; none where there is but one way.
    [[nodiscard]] std::span<const PathAddresses> alternatives() const noexcept;

  private:
    friend class Endpoint;
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::proto
