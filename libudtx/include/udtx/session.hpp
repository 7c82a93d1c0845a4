// Use of the transport with its own thread inside. For programs that want a few reliable, encrypted streams and no
// event loop; udtx/async.hpp is for those that have one.
//
//     auto session = udtx::Session::connect("host", 7000, *credentials);
//     auto stream = session->open_stream();
//     stream->write(bytes);
//     stream->finish();   // returns when the peer's transport has every byte
//
// All calls are thread-safe. Nothing throws. Calls that block take a time-out, after which they fail with `timeout`; in
// another thread cancel() ends them with `cancelled`; after either, what they waited for goes on, and they may be
// repeated. After close(), or once the connection has ended, every call that needs it returns an error at once, also
// those that are blocked in another thread; only reads still give what had arrived before the peer ended the session.
// Calls that begin with `start_` do not block, see Callback. Do not use a session in a child process after fork().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

namespace udtx {

namespace io {
class ProtocolThread;
class SessionState;
}  // namespace io

struct ConnectOptions {
    TransportConfig config{};
    /// At most TransportConfig::max_paths; none: one path, as the routes say.
    std::vector<PathRequest> paths{};
    LogSink log{};
};

/// A session that was begun by Session::start_connect().
class UDTX_EXPORT Connecting {
  public:
    /// Ends it with `cancelled`, once a look-up of the host's name that is under way has ended; nothing if it has
    /// called back.
    void cancel();

  private:
    friend class Session;
    explicit Connecting(std::shared_ptr<io::SessionState> state) : state_(std::move(state)) {}
    std::shared_ptr<io::SessionState> state_;
};

class UDTX_EXPORT Session {
  public:
    /// Blocks until the handshake has finished or failed (TransportConfig::handshake_timeout for each address tried).
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const TransportConfig& config = {});
    /// The same over several paths, at most TransportConfig::max_paths: the handshake goes over them in turn until one
    /// answers, and the others are opened then. Paths that the peer has no room for are left out: stats() tells which
    /// there are. invalid_argument: a path that this host cannot have, or none at all.
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const TransportConfig& config, const std::vector<PathRequest>& paths);
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const ConnectOptions& options);
    /// Does not block: the name is looked up on the session's own thread.
    static Result<Connecting> start_connect(std::string host, std::uint16_t port, const Credentials& credentials,
                                            ConnectOptions options, Callback<Session> done);
    Session() noexcept;  ///< none: like one that was moved from, every call gives invalid_argument
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    /// Closes it, and waits up to 0.3 s for the peer to hear of that. Its streams may outlive it.
    ~Session();

    // --- streams
    Result<Stream> open_stream(StreamKind kind = StreamKind::ordered);
    /// The next stream of this kind that the peer opened (a stream shows up with its first byte).
    Result<Stream> accept_stream(std::chrono::milliseconds timeout, StreamKind kind = StreamKind::ordered);
    CallId start_open_stream(StreamKind kind, Callback<Stream> done);
    CallId start_accept_stream(StreamKind kind, Callback<Stream> done);

    // --- the end
    /// Ends the session, and tells the peer: of what has come up to now, on all paths, and of the end, with an
    /// application's code (at most 2^62 - 1; 0: in good order) and a reason for people (at most 256 bytes). Does not
    /// block. Bytes not acknowledged are given up: finish() streams first. The side that sends last should be the one
    /// that closes; the other one calls wait_closed(). May be called again and does nothing then.
    void close(std::uint64_t code = 0, std::string reason = {});
    /// Waits until the session has ended from either side; ok if the end was orderly, or this side's wish.
    Result<void> wait_closed(std::chrono::milliseconds timeout = kForever);
    CallId start_wait_closed(Callback<void> done);
    /// How it ended; nullopt while it is open.
    [[nodiscard]] std::optional<CloseReason> close_reason() const;

    /// Ends the calls of the session and its streams that wait, in other threads or for a callback, with `cancelled`.
    /// The session goes on.
    void cancel();
    /// The same for one call that was started; nothing if it has called back.
    void cancel(CallId call);

    // --- what it is, and how it does
    /// The key by which the peer has proved itself; nullopt with a pre-shared key.
    [[nodiscard]] std::optional<PublicKey> peer_key() const;
    /// Of the oldest path that is open.
    [[nodiscard]] Address remote() const;
    /// With the state and figures of each path; those that were removed come last, as `closed`.
    [[nodiscard]] Result<ConnectionStats> stats() const;
    /// The cap of what leaves, from now on (TransportConfig::max_rate).
    Result<void> set_max_rate(Rate rate);
    /// What the peer wants to receive at most, from now on: it said so in the handshake
    /// (TransportConfig::max_receive_rate), and may tell another figure by means of the application.
    Result<void> set_peer_rate(Rate rate);

    // --- paths
    /// The side that dialled: asks for one more path and returns at once; wait_path_event() tells when it is `active`
    /// or turns out `unreachable`, which does not end the asking. An IPv6 path needs a session that was dialled to an
    /// IPv6 address or with an IPv6 path. invalid_argument: this host cannot have it, or this side did not dial;
    /// refused: as many paths are open as both sides allow.
    Result<PathId> add_path(const PathRequest& path);
    /// Gives a path up, on both sides and for good: its id is not used again. What was on its way there goes again on
    /// the others. refused: no other path works; invalid_argument: there is no such path.
    Result<void> remove_path(PathId id);
    /// The next event of a path, in order; of those nobody asked for the last 256 are kept. A session that never has
    /// more than one path has none.
    Result<PathEvent> wait_path_event(std::chrono::milliseconds timeout);
    CallId start_wait_path_event(Callback<PathEvent> done);

  private:
    friend class Listener;
    Session(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::SessionState> state);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::SessionState> state_;
};

}  // namespace udtx
