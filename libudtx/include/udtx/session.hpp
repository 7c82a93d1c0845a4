// Encrypted sessions with reliable streams: Stream, Session, and the Listener that accepts sessions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/carrier.hpp"
#include "udtx/config.hpp"
#include "udtx/core/chunk.hpp"
#include "udtx/credentials.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/log.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"

namespace udtx {

// One stream of a session.

namespace io {
class StreamHandle;
}

/// A part of an unordered stream.
struct Piece {
    std::uint64_t offset = 0;  ///< offset in the stream, bytes
    Chunk data;                ///< at most 64 KiB; holds a block of 64 KiB, so copy data that you keep for long
};

/// A byte stream between the two ends of a session. An *ordered* stream carries bytes both ways and delivers them in
/// order. An *unordered* stream carries bytes only from the end that opened it. It delivers pieces with their offset
/// when they arrive, each byte once, so no piece waits for a lost one.
///
/// Copies refer to the same stream. When the last copy is destroyed, the sending direction ends as by finish(), without
/// waiting, and further data from the peer is dropped. Any thread may call any function, but only one thread may read
/// and one may write at a time. A call that does not fit the kind of the stream fails with invalid_argument, and so
/// does a call on a default-constructed or moved-from Stream. After the end of the session calls fail with the
/// session's error.
///
/// Blocking calls take a time-out; after `timeout` or `cancelled` they may be repeated. Calls whose names start with
/// `start_` do not block, see Callback. The caller keeps their buffers valid until the callback is called. They keep
/// the stream open until then.
class UDTX_EXPORT Stream {
  public:
    Stream() noexcept = default;  ///< An empty stream.
    /// Id of the stream.
    [[nodiscard]] StreamId id() const noexcept;
    /// How the stream delivers bytes.
    [[nodiscard]] StreamKind kind() const noexcept { return id().kind(); }

    // --- the direction of this end
    /// Writes all bytes; blocks while the send buffer is full (TransportConfig::send_buffer). After `timeout` or
    /// `cancelled` a part of the bytes may have been written: use write_some() to know how many. interrupted: the peer
    /// has called stop_receiving() (Error::application_code), or has destroyed its last copy of the stream (code 0).
    Result<void> write(std::span<const std::byte> bytes, std::chrono::milliseconds timeout = kForever);
    /// Writes at least one byte; blocks until the send buffer has room. Returns the number of bytes written.
    Result<std::size_t> write_some(std::span<const std::byte> bytes, std::chrono::milliseconds timeout = kForever);
    /// Writes a chunk without copying it, so its bytes must not change afterwards. Blocks until the send buffer has
    /// room, then writes the whole chunk.
    Result<void> write_chunk(Chunk chunk, std::chrono::milliseconds timeout = kForever);
    /// Ends the sending direction, and waits until the peer's transport has acknowledged all bytes. May be repeated.
    Result<void> finish(std::chrono::milliseconds timeout = kForever);
    /// Aborts the sending direction: unacknowledged bytes are not sent again. Reads of the peer fail with `interrupted`
    /// and this code (at most 2^62 - 1). Does not block. No effect once all bytes are acknowledged.
    void reset(std::uint64_t code);

    // --- the direction of the peer
    /// Ordered streams: blocks until at least one byte has arrived, and returns the number of bytes; 0: the end of the
    /// stream. interrupted: the peer has called reset() (Error::application_code).
    Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds timeout = kForever);
    /// Ordered streams: blocks until `out` is full, and returns its size. Fewer bytes mean that the stream has ended.
    /// After `timeout` or `cancelled` a part may have been read: use read() to know how much.
    Result<std::size_t> read_full(std::span<std::byte> out, std::chrono::milliseconds timeout = kForever);
    /// Ordered streams: returns the next bytes without copying them, at most 64 KiB; empty: the end of the stream. Even
    /// a small chunk holds a block of 64 KiB, so copy data that you keep for long.
    Result<Chunk> read_chunk(std::chrono::milliseconds timeout = kForever);
    /// Unordered streams: returns the next piece that has arrived; nullopt: all bytes of the stream were delivered.
    Result<std::optional<Piece>> read_piece(std::chrono::milliseconds timeout = kForever);
    /// Ends the receiving direction: data that arrives is dropped. Writes of the peer fail with `interrupted` and this
    /// code (at most 2^62 - 1). Does not block.
    void stop_receiving(std::uint64_t code);

    // --- without blocking
    /// write_some() without blocking.
    CallId start_write_some(std::span<const std::byte> bytes, Callback<std::size_t> done);
    /// write() without blocking. The result is the number of bytes.
    CallId start_write(std::span<const std::byte> bytes, Callback<std::size_t> done);
    /// write_chunk() without blocking.
    CallId start_write_chunk(Chunk chunk, Callback<void> done);
    /// finish() without blocking.
    CallId start_finish(Callback<void> done);
    /// read() without blocking.
    CallId start_read(std::span<std::byte> out, Callback<std::size_t> done);
    /// read_chunk() without blocking.
    CallId start_read_chunk(Callback<Chunk> done);
    /// read_piece() without blocking.
    CallId start_read_piece(Callback<std::optional<Piece>> done);

    /// Ends all waiting calls of this stream with `cancelled`, including calls with a callback. The stream stays open.
    void cancel();
    /// Ends one started call with `cancelled`. No effect after its callback was called.
    void cancel(CallId call);

  private:
    friend struct StateAccess;
    explicit Stream(std::shared_ptr<io::StreamHandle> handle) : handle_(std::move(handle)) {}
    std::shared_ptr<io::StreamHandle> handle_;
};

}  // namespace udtx

// Encrypted sessions with reliable streams, for programs without an event loop. For programs with one see
// udtx/async.hpp.
//
//     auto session = udtx::Session::connect("host", 7000, *credentials);
//     auto stream = session->open_stream();
//     stream->write(bytes);
//     stream->finish();   // returns when the transport of the peer has every byte
//
// No function throws. Any thread may call any function, and several threads may call at the same time. Only a
// destructor or an assignment needs exclusive access to its object.
//
// A blocking call takes a time-out and fails with `timeout` after it. cancel() in another thread ends blocking calls
// with `cancelled`. After either error the caller may repeat the call: the failed call opens no stream and no path
// later. Calls whose names start with `start_` do not block, see Callback.
//
// After close(), or after the end of the connection, all calls fail at once. This includes calls that wait in other
// threads. Reads are the exception: they first return the data that arrived before the peer ended the session.
//
// Do not use a session in a child process after fork().

/// Sessions, streams, and the types that they share with transfers.
namespace udtx {

namespace io {
class ProtocolThread;
class SessionState;
}  // namespace io

/// Settings of a session on the side that connects.
struct ConnectOptions {
    TransportConfig config{};  ///< settings of the connection
    /// Paths to open, at most TransportConfig::max_paths; empty: one path, chosen by the routing table.
    std::vector<PathRequest> paths{};
    CarrierOptions carriers{.udp = true, .tcp = false};  ///< what may carry the connection
    LogSink log{};  ///< receives messages about the addresses that are tried, and about paths that open and close
    /// A stop request before the session exists ends the call with `cancelled`. A blocking call then waits up to 0.3 s
    /// to notify the peer. A name lookup cannot be stopped: it continues in its own thread, and nothing is sent after
    /// it.
    std::stop_token stop{};
};

/// A session that Session::start_connect() is connecting.
class UDTX_EXPORT Connecting {
  public:
    /// Ends the connection attempt with `cancelled`, as ConnectOptions::stop does. No effect after the callback was
    /// called.
    void cancel();

  private:
    friend class Session;
    explicit Connecting(std::shared_ptr<io::SessionState> state) : state_(std::move(state)) {}
    std::shared_ptr<io::SessionState> state_;
};

/// A connection to a peer over one or more paths. A session on the side that connects has its own thread. Accepted
/// sessions share the thread of their listener.
class UDTX_EXPORT Session {
  public:
    /// Connects, and blocks until the handshake has finished or failed. Each address of the host gets
    /// TransportConfig::handshake_timeout. invalid_argument, returned at once: the port or the configuration is
    /// invalid.
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const TransportConfig& config = {});
    /// Connects over several paths. The call tries the paths one after another until one answers, then opens the
    /// others. It omits paths that the peer's limit excludes, see stats(). invalid_argument: `paths` is empty, or this
    /// host cannot open one of them.
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const TransportConfig& config, const std::vector<PathRequest>& paths);
    /// Connects with all settings.
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const ConnectOptions& options);
    /// connect() without blocking. The thread of the session also resolves the host name. If start_connect() returns an
    /// error, it does not call `done`. invalid_argument: the port, the configuration or the number of paths is invalid.
    static Result<Connecting> start_connect(std::string host, std::uint16_t port, const Credentials& credentials,
                                            ConnectOptions options, Callback<Session> done);
    Session() noexcept;           ///< An empty session, also the state after a move. Calls fail with invalid_argument.
    Session(Session&&) noexcept;  ///< Leaves the source empty.
    Session& operator=(Session&&) noexcept;  ///< Closes the session that this object held, as the destructor does.
    /// Calls close(), and waits up to 0.3 s to notify the peer. Streams may outlive the session.
    ~Session();

    // --- streams
    /// Opens a stream. The peer sees it when its first byte arrives. refused: the peer accepts no more streams at
    /// present.
    Result<Stream> open_stream(StreamKind kind = StreamKind::ordered);
    /// Returns the next stream of this kind that the peer has opened.
    Result<Stream> accept_stream(std::chrono::milliseconds timeout, StreamKind kind = StreamKind::ordered);
    /// open_stream() without blocking.
    CallId start_open_stream(StreamKind kind, Callback<Stream> done);
    /// accept_stream() without blocking.
    CallId start_accept_stream(StreamKind kind, Callback<Stream> done);

    // --- the end
    /// Ends the session with an application code (at most 2^62 - 1; 0: success) and a reason for people (at most 256
    /// bytes). The peer receives both, and an acknowledgement of all data that has arrived here. Unacknowledged bytes
    /// are dropped: call Stream::finish() first. The side that sends last calls close(); the other side calls
    /// wait_closed(). Does not block. A second call has no effect.
    void close(std::uint64_t code = 0, std::string reason = {});
    /// Waits until either side has ended the session. Success: it ended with code 0, or this side closed it.
    Result<void> wait_closed(std::chrono::milliseconds timeout = kForever);
    /// wait_closed() without blocking.
    CallId start_wait_closed(Callback<void> done);
    /// Tells how the session ended; nullopt while it is open.
    [[nodiscard]] std::optional<CloseReason> close_reason() const;

    /// Ends all waiting calls of the session and of its streams with `cancelled`, including calls with a callback. The
    /// session stays open.
    void cancel();
    /// Ends one started call with `cancelled`. No effect after its callback was called.
    void cancel(CallId call);

    // --- information and rates
    /// The key with which the peer has authenticated itself; nullopt with a pre-shared key.
    [[nodiscard]] std::optional<PublicKey> peer_key() const;
    /// The peer's address on the oldest open path.
    [[nodiscard]] Address remote() const;
    /// Statistics of the session and of each path. Removed paths are last, with the state `closed`.
    [[nodiscard]] Result<ConnectionStats> stats() const;
    /// Changes the cap of the sending rate (TransportConfig::max_rate). invalid_argument: the rate is not above zero.
    Result<void> set_max_rate(Rate rate);
    /// Changes the peer's receive limit that this end obeys. The handshake set it to the peer's
    /// TransportConfig::max_receive_rate. Call this if the peer's program sends a new limit in a message of its own.
    /// invalid_argument: the rate is not above zero.
    Result<void> set_peer_rate(Rate rate);

    // --- paths
    /// Requests another path; only the side that connected may call it. Returns at once. wait_path_event() then reports
    /// the path as `active`, or as `unreachable`. invalid_argument: this host cannot open the path, or this side did
    /// not connect. An IPv6 path needs a session that connected over IPv6. refused: the limits of the two sides allow
    /// no more paths.
    Result<PathId> add_path(const PathRequest& path);
    /// Removes a path at both ends. Its id is not used again. Its bytes in flight are sent again on other paths.
    /// refused: no other path works. invalid_argument: the path does not exist.
    Result<void> remove_path(PathId id);
    /// Waits for the next path event. The session queues the last 256 events. A session with one path has no events.
    Result<PathEvent> wait_path_event(std::chrono::milliseconds timeout);
    /// wait_path_event() without blocking.
    CallId start_wait_path_event(Callback<PathEvent> done);

  private:
    friend struct StateAccess;
    Session(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::SessionState> state);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::SessionState> state_;
};

// The side that accepts sessions.

namespace io {
class AcceptQueue;
}

/// Settings of a listener.
struct ListenOptions {
    TransportConfig config{};          ///< settings of each session
    std::size_t max_connections = 64;  ///< limit of concurrent connections; further clients are refused with `network`
    /// TCP addresses at which clients that UDP does not reach may connect: "host:port", "[v6]:port", ":port", or
    /// kSamePort. Clients need CarrierOptions::tcp.
    std::vector<std::string> tcp_listen{};
    LogSink log{};  ///< receives messages about failed handshakes, and about paths that open and close
};

/// Accepts sessions on one UDP port. One thread of the library serves the listener and all its sessions. Any thread may
/// call any function. Only the destructor and the assignment need exclusive access.
class UDTX_EXPORT Listener {
  public:
    /// Listens at `address`: "host:port", "[v6]:port" or ":port"; port 0 chooses a free one. network: this host does
    /// not have the address, or no socket is available. invalid_argument: the address or the configuration is invalid.
    static Result<Listener> bind(const std::string& address, const Credentials& credentials,
                                 const TransportConfig& config = {}, std::size_t max_connections = 64);
    /// Listens with all settings.
    static Result<Listener> bind(const std::string& address, const Credentials& credentials,
                                 const ListenOptions& options);
    /// Listens on a bound UDP socket, for example one from a service manager or from bind_udp(). network: it is not a
    /// UDP socket. invalid_argument: it is not bound.
    static Result<Listener> adopt(UniqueFd socket, const Credentials& credentials, const ListenOptions& options = {});
    Listener() noexcept;  ///< An empty listener, also the state after a move. Calls fail with invalid_argument.
    Listener(Listener&&) noexcept;  ///< Leaves the source empty.
    /// Closes the listener that this object held, and leaves the source empty.
    Listener& operator=(Listener&&) noexcept;
    ~Listener();  ///< Calls close(). Accepted sessions stay open.

    /// Address at which the listener listens.
    [[nodiscard]] Address local_address() const;
    /// Returns the next session whose handshake has finished. timeout: no session arrived in time.
    Result<Session> accept(std::chrono::milliseconds timeout);
    /// accept() without blocking.
    CallId start_accept(Callback<Session> done);
    /// Ends all waiting calls of accept() and start_accept() with `cancelled`. The listener stays open.
    void cancel();
    /// Ends one started call with `cancelled`. No effect after its callback was called.
    void cancel(CallId call);
    /// Stops listening, and closes sessions that were not accepted. Accepted sessions stay open. May be called again.
    void close();

  private:
    friend struct StateAccess;
    Listener(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::AcceptQueue> queue);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::AcceptQueue> queue_;
};

}  // namespace udtx
