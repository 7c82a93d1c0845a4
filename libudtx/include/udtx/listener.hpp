// The side that waits for sessions. See udtx/session.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "udtx/address.hpp"
#include "udtx/callback.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/export.hpp"
#include "udtx/log.hpp"
#include "udtx/result.hpp"

namespace udtx {

class Session;
namespace io {
class AcceptQueue;
class ProtocolThread;
}  // namespace io

struct ListenOptions {
    TransportConfig config{};
    std::size_t max_connections = 64;  ///< at once; who comes too late is told so
    /// Hears of handshakes that failed.
    LogSink log{};
};

class UDTX_EXPORT Listener {
  public:
    /// `address`: "host:port", "[v6]:port" or ":port"; port 0 picks a free one.
    static Result<Listener> bind(const std::string& address, const Credentials& credentials,
                                 const TransportConfig& config = {}, std::size_t max_connections = 64);
    static Result<Listener> bind(const std::string& address, const Credentials& credentials,
                                 const ListenOptions& options);
    /// On a UDP socket that somebody has bound, such as the one a service manager hands over. The listener closes it.
    /// network: the descriptor is no UDP socket.
    static Result<Listener> adopt(int descriptor, const Credentials& credentials, const ListenOptions& options = {});
    Listener() noexcept;  ///< none: like one that was moved from
    Listener(Listener&&) noexcept;
    Listener& operator=(Listener&&) noexcept;
    ~Listener();

    [[nodiscard]] Address local_address() const;
    /// The next session whose handshake has finished. timeout: nobody came in time.
    Result<Session> accept(std::chrono::milliseconds timeout);
    CallId start_accept(Callback<Session> done);
    /// Ends the calls of accept that wait with `cancelled`; the listener goes on.
    void cancel();
    /// The same for one call that was started; nothing if it has called back.
    void cancel(CallId call);
    /// No more accept(); sessions not yet accepted are closed, accepted ones live on. May be repeated.
    void close();

  private:
    Listener(std::shared_ptr<io::ProtocolThread> thread, std::shared_ptr<io::AcceptQueue> queue);
    std::shared_ptr<io::ProtocolThread> thread_;
    std::shared_ptr<io::AcceptQueue> queue_;
};

}  // namespace udtx
