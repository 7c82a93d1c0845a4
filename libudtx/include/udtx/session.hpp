// Blocking use of the transport, with its own thread inside. For programs that want a few reliable, encrypted streams
// and no event loop.
//
//     auto session = udtx::Session::connect("host", 7000, *credentials);
//     auto stream = session->open_stream();
//     stream->write(bytes);
//     stream->finish();   // returns when the peer's transport has every byte
//
// All calls are thread-safe (one reader and one writer at a time per stream make sense). Nothing throws. After close(),
// or once the connection has ended, every call that needs it returns an error at once, also those that are blocked in
// another thread; only read() still gives what had arrived before the peer ended the session. close() may be called
// again and does nothing then. Destroying a Session closes it; its streams may outlive it. Do not use a session in a
// child process after fork().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/path.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"

namespace udtx {

namespace proto {
struct PathAddresses;
}
namespace io {
class AcceptQueue;
class ProtocolThread;
class SessionState;
class StreamHandle;
}  // namespace io

/// An ordered stream of bytes in both directions. Copies refer to the same stream. When the last copy goes, our
/// direction ends as by finish() without the wait, and what the peer still sends on it is given up.
class UDTX_EXPORT Stream {
  public:
    [[nodiscard]] StreamId id() const noexcept;
    /// Takes all bytes; blocks while the send buffer is full.
    Result<void> write(std::span<const std::byte> bytes);
    /// At least one byte, or 0 at the end of the stream; blocks until then.
    Result<std::size_t> read(std::span<std::byte> out);
    /// Ends our direction and waits until the peer's transport has acknowledged all of it. May be repeated.
    Result<void> finish();

  private:
    friend class Session;
    explicit Stream(std::shared_ptr<io::StreamHandle> handle) : handle_(std::move(handle)) {}
    std::shared_ptr<io::StreamHandle> handle_;
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
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    ~Session();

    Result<Stream> open_stream();
    /// The next stream that the peer opened (a stream shows up with its first byte). timeout: nothing came in time.
    Result<Stream> accept_stream(std::chrono::milliseconds timeout);
    /// Tells the peer and ends the session. Bytes not acknowledged are given up: finish() streams first. The side that
    /// sends last should be the one that closes; the other one calls wait_closed().
    void close();
    /// Waits until the session has ended from either side; ok if the end was orderly.
    Result<void> wait_closed(std::chrono::milliseconds timeout);
    /// With the state and figures of each path; those that were removed come last, as `closed`.
    [[nodiscard]] Result<ConnectionStats> stats() const;
    /// Of the oldest path that is open.
    [[nodiscard]] Address remote() const;

    /// The side that dialled: asks for one more path and returns at once; wait_path_event() tells when it is `active`
    /// or turns out `unreachable`, which does not end the asking. An IPv6 path needs a session that was dialled to an
    /// IPv6 address or with an IPv6 path. invalid_argument: this host cannot have it, or this side did not dial;
    /// refused: as many paths are open as both sides allow.
    Result<PathId> add_path(const PathRequest& path);
    /// Gives a path up, on both sides and for good: its id is not used again. What was on its way there goes again on
    /// the others. refused: no other path works; invalid_argument: there is no such path.
    Result<void> remove_path(PathId id);
    /// The next event of a path, in order; of those nobody asked for the last 256 are kept. timeout: nothing happened
    /// in time. A session that never has more than one path has none.
    Result<PathEvent> wait_path_event(std::chrono::milliseconds timeout);

  private:
    friend class Listener;
    Session(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::SessionState> state,
            std::vector<Address> dialled);
    static Result<Session> connect(const Credentials& credentials, const TransportConfig& config,
                                   std::vector<proto::PathAddresses> ways, bool several, std::vector<Address> dialled);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::SessionState> state_;
    std::vector<Address> dialled_;  // the host's addresses, in order of preference; empty: the peer dialled
};

class UDTX_EXPORT Listener {
  public:
    /// `address`: "host:port", "[v6]:port" or ":port"; port 0 picks a free one.
    static Result<Listener> bind(const std::string& address, const Credentials& credentials,
                                 const TransportConfig& config = {}, std::size_t max_connections = 64);
    Listener(Listener&&) noexcept;
    Listener& operator=(Listener&&) noexcept;
    ~Listener();

    [[nodiscard]] Address local_address() const;
    /// The next session whose handshake has finished. timeout: nobody came in time.
    Result<Session> accept(std::chrono::milliseconds timeout);
    /// No more accept(); sessions not yet accepted are closed, accepted ones live on. May be repeated.
    void close();

  private:
    Listener(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::AcceptQueue> queue);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::AcceptQueue> queue_;
};

}  // namespace udtx
