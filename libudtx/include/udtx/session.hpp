// Encrypted sessions with reliable streams, for programs without an event loop; for others see udtx/async.hpp.
//
//     auto session = udtx::Session::connect("host", 7000, *credentials);
//     auto stream = session->open_stream();
//     stream->write(bytes);
//     stream->finish();   // returns when the transport of the peer has every byte
//
// Nothing throws. Any thread may call any function, several at a time; only destructors and assignments need their
// object for themselves. Calls that block take a time-out, after which they fail with `timeout`. cancel() in another
// thread ends them with `cancelled`. After both the call may be repeated; a stream or path is no longer opened for the
// first one. Calls whose names begin with `start_` do not block, see Callback.
//
// After close(), or when the connection has ended, all calls fail at once, those that wait in other threads as well.
// Only reads first give what had arrived before the peer ended the session.
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

/// Settings of a session that dials.
struct ConnectOptions {
    TransportConfig config{};          ///< of the connection
    std::vector<PathRequest> paths{};  ///< at most TransportConfig::max_paths; empty: one path, as the routes say
    LogSink log{};                     ///< is told which addresses are tried, and which paths come and go
    /// A stop that is requested before there is a session ends the call with `cancelled`; a call that blocks gives the
    /// peer up to 0.3 s to hear of that. The look-up of a name cannot be stopped: it goes on in a thread of its own,
    /// and nothing is sent after it.
    std::stop_token stop{};
};

/// A session that Session::start_connect() has begun to dial.
class UDTX_EXPORT Connecting {
  public:
    /// Ends it with `cancelled`, as ConnectOptions::stop does. No effect if it has called back.
    void cancel();

  private:
    friend class Session;
    explicit Connecting(std::shared_ptr<io::SessionState> state) : state_(std::move(state)) {}
    std::shared_ptr<io::SessionState> state_;
};

/// A connection to a peer, over one path or several. A session that dialled has a thread inside; accepted ones share
/// that of their listener.
class UDTX_EXPORT Session {
  public:
    /// Dials, and blocks until the handshake has finished or failed. Each address of the host is given
    /// TransportConfig::handshake_timeout. invalid_argument, at once: the port or the configuration is wrong.
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const TransportConfig& config = {});
    /// The same over several paths. They are dialled in turn until one answers; then the others are opened. Paths for
    /// which the peer has no room are left out, see stats(). invalid_argument: there is no path, or one that this host
    /// cannot have.
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const TransportConfig& config, const std::vector<PathRequest>& paths);
    /// The same with all settings.
    static Result<Session> connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                                   const ConnectOptions& options);
    /// connect() without blocking: the look-up of the host too runs on the thread of the session. Where it returns an
    /// error, it does not call back. invalid_argument: the port, the configuration or the number of paths is wrong.
    static Result<Connecting> start_connect(std::string host, std::uint16_t port, const Credentials& credentials,
                                            ConnectOptions options, Callback<Session> done);
    Session() noexcept;                      ///< No session, as after a move: calls fail with invalid_argument.
    Session(Session&&) noexcept;             ///< Leaves no session behind.
    Session& operator=(Session&&) noexcept;  ///< Closes what was here, as the destructor does.
    /// close(), and waits up to 0.3 s for the peer to be told. Streams may outlive the session.
    ~Session();

    // --- streams
    /// Opens a stream. The peer sees it with its first byte. refused: the peer takes no more streams at present.
    Result<Stream> open_stream(StreamKind kind = StreamKind::ordered);
    /// The next stream of this kind that the peer has opened.
    Result<Stream> accept_stream(std::chrono::milliseconds timeout, StreamKind kind = StreamKind::ordered);
    /// open_stream() without blocking.
    CallId start_open_stream(StreamKind kind, Callback<Stream> done);
    /// accept_stream() without blocking.
    CallId start_accept_stream(StreamKind kind, Callback<Stream> done);

    // --- the end
    /// Ends the session with the code of a program (at most 2^62 - 1; 0: in good order) and a reason for people (at
    /// most 256 bytes). The peer is told of these, and of what has come up to now. Bytes that are not acknowledged are
    /// given up: call Stream::finish() first. The side that sends last closes, the other one calls wait_closed(). Does
    /// not block; a second call has no effect.
    void close(std::uint64_t code = 0, std::string reason = {});
    /// Waits until the session has ended, from whichever side. Success: in good order, or because this side closed it.
    Result<void> wait_closed(std::chrono::milliseconds timeout = kForever);
    /// wait_closed() without blocking.
    CallId start_wait_closed(Callback<void> done);
    /// How the session ended; nullopt while it is open.
    [[nodiscard]] std::optional<CloseReason> close_reason() const;

    /// Ends all waiting calls of the session and of its streams with `cancelled`, those with a callback as well. The
    /// session goes on.
    void cancel();
    /// Ends one started call with `cancelled`. No effect if it has called back.
    void cancel(CallId call);

    // --- what it is, and how it does
    /// The key by which the peer has proved who it is; nullopt with a pre-shared key.
    [[nodiscard]] std::optional<PublicKey> peer_key() const;
    /// Address of the peer on the oldest open path.
    [[nodiscard]] Address remote() const;
    /// Figures of the session and of each path. Removed paths come last, as `closed`.
    [[nodiscard]] Result<ConnectionStats> stats() const;
    /// Changes the cap of what is sent (TransportConfig::max_rate). invalid_argument: it is not above zero.
    Result<void> set_max_rate(Rate rate);
    /// Changes what the peer wants to receive at most. It said so in the handshake (TransportConfig::max_receive_rate);
    /// by means of the programs it may say so again. invalid_argument: it is not above zero.
    Result<void> set_peer_rate(Rate rate);

    // --- paths
    /// Side that dialled: asks for one more path. Returns at once; wait_path_event() tells when the path is `active`,
    /// or seems `unreachable`. invalid_argument: this host cannot have the path, or this side did not dial; an IPv6
    /// path needs a session that was dialled by IPv6. refused: both sides together allow no more paths.
    Result<PathId> add_path(const PathRequest& path);
    /// Removes a path at both ends. Its id is not used again; bytes in flight on it are sent again on other paths.
    /// refused: no other path works; invalid_argument: there is no such path.
    Result<void> remove_path(PathId id);
    /// The next event of a path. The last 256 events are kept for it. A session with one path has none.
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
