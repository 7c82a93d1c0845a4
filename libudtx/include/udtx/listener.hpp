// The side that accepts sessions, see udtx/session.hpp.
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
    TransportConfig config{};          ///< settings of each session
    std::size_t max_connections = 64;  ///< limit of concurrent connections; further clients are refused with `network`
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
    Listener(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::AcceptQueue> queue);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::AcceptQueue> queue_;
};

}  // namespace udtx
