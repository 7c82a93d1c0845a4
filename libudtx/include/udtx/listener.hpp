// The side that waits for sessions, see udtx/session.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "udtx/address.hpp"
#include "udtx/callback.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/export.hpp"
#include "udtx/log.hpp"
#include "udtx/result.hpp"

namespace udtx {

class Session;
namespace io {
class AcceptQueue;
class ProtocolThread;
}  // namespace io

/// Settings of a listener.
struct ListenOptions {
    TransportConfig config{};          ///< of each session
    std::size_t max_connections = 64;  ///< at once; further clients are refused (`network`)
    LogSink log{};                     ///< is told of handshakes that failed, and which paths come and go
};

/// Waits for sessions on one UDP port. One thread inside serves the listener and all its sessions. Calls may come from
/// any thread; the destructor and the assignment need the listener for themselves.
class UDTX_EXPORT Listener {
  public:
    /// Listens at `address`: "host:port", "[v6]:port" or ":port"; port 0 picks a free one. network: there is no such
    /// address here, or no socket; invalid_argument: the address or the configuration is wrong.
    static Result<Listener> bind(const std::string& address, const Credentials& credentials,
                                 const TransportConfig& config = {}, std::size_t max_connections = 64);
    /// The same with all settings.
    static Result<Listener> bind(const std::string& address, const Credentials& credentials,
                                 const ListenOptions& options);
    /// Listens on a bound UDP socket, such as one of a service manager or of bind_udp(). network: it is no UDP socket;
    /// invalid_argument: it is not bound.
    static Result<Listener> adopt(UniqueFd socket, const Credentials& credentials, const ListenOptions& options = {});
    Listener() noexcept;                       ///< No listener, as after a move: calls fail with invalid_argument.
    Listener(Listener&&) noexcept;             ///< Leaves no listener behind.
    Listener& operator=(Listener&&) noexcept;  ///< Closes what was here; leaves no listener behind.
    ~Listener();                               ///< close(); accepted sessions live on.

    /// Where it listens.
    [[nodiscard]] Address local_address() const;
    /// The next session whose handshake has finished. timeout: there was none in time.
    Result<Session> accept(std::chrono::milliseconds timeout);
    /// accept() without blocking.
    CallId start_accept(Callback<Session> done);
    /// Ends all waiting calls of accept() and start_accept() with `cancelled`. The listener goes on.
    void cancel();
    /// Ends one started call with `cancelled`. No effect if it has called back.
    void cancel(CallId call);
    /// Accepts nobody any more, and closes sessions that were not accepted. Accepted ones live on. May be repeated.
    void close();

  private:
    Listener(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::AcceptQueue> queue);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::AcceptQueue> queue_;
};

}  // namespace udtx
