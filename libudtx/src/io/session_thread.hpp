// The thread inside Session and Listener: a Driver with all that it needs.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "io/driver.hpp"
#include "io/endpoint_deps.hpp"
#include "io/fork_guard.hpp"
#include "io/session_state.hpp"
#include "udtx/credentials.hpp"

namespace udtx::io {

/// Shared by a listener and the sessions that it accepted, or owned by one dialled session; never by the protocol
/// thread itself, so that the last owner can join it.
class SessionThread {
  public:
    /// `open` opens the driver's socket. network: as it says, or the process has no descriptor or thread left.
    static Result<std::shared_ptr<SessionThread>> make(const Credentials& credentials, const TransportConfig& config,
                                                       const std::function<Result<void>(Driver&)>& open);
    /// Lets the closes of its sessions reach their peers (a short while), then joins.
    ~SessionThread();
    SessionThread(const SessionThread&) = delete;
    SessionThread& operator=(const SessionThread&) = delete;

    [[nodiscard]] Address local_address() const { return local_; }
    /// See Endpoint::connect().
    std::shared_ptr<SessionState> connect(std::vector<proto::PathAddresses> ways);
    void listen(std::size_t max_connections);
    Result<std::shared_ptr<SessionState>> accept(std::chrono::milliseconds timeout);
    void stop_accepting();

  private:
    static Result<std::shared_ptr<SessionThread>> start(std::unique_ptr<EndpointDeps> deps,
                                                        const TransportConfig& config,
                                                        const std::function<Result<void>(Driver&)>& open);
    SessionThread(std::unique_ptr<EndpointDeps> deps, const TransportConfig& config);

    ForkGuard fork_guard_;
    std::unique_ptr<EndpointDeps> deps_;
    Driver driver_;
    Address local_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<SessionState>> acceptable_;
    std::size_t max_acceptable_ = 0;
    bool accepting_ = false;

    std::thread thread_;
};

}  // namespace udtx::io
