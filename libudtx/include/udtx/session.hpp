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
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/callback.hpp"
#include "udtx/close_reason.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/listener.hpp"
#include "udtx/log.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"
#include "udtx/stream.hpp"

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
    friend class Listener;
    Session(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::SessionState> state);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::SessionState> state_;
};

}  // namespace udtx
