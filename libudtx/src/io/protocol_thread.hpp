// Everything below a session or a transfer, made from the user's settings: keys, randomness, socket, protocol thread.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "io/driver.hpp"
#include "io/endpoint_deps.hpp"
#include "io/fork_guard.hpp"
#include "os/thread_time.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx::io {

/// The longest wait for a close to reach the peer, if nothing else shows that it did.
inline constexpr Duration kDrainAtMost = std::chrono::milliseconds(300);

/// Order of calls: make() and open() of the driver, or make_open(); then set up the driver; then start(), then stop().
/// Destroy it after everything that holds a Waker, and never on its own thread.
class ProtocolThread {
  public:
    /// Does the work that needs no key, takes a few milliseconds and happens once per process. Without this call make()
    /// does it.
    static void prepare();
    static Result<std::unique_ptr<ProtocolThread>> make(const Credentials& credentials, const TransportConfig& config,
                                                        const Driver::Options& options = {});
    /// For the side that connects: opens a socket that reaches `ways`, and removes those that it cannot reach.
    static Result<std::unique_ptr<ProtocolThread>> make_open(const Credentials& credentials,
                                                             const TransportConfig& config,
                                                             const Driver::Options& options,
                                                             std::vector<proto::PathAddresses>& ways);
    /// For several owners: the last one stops the thread. If that happens on the thread itself, another thread stops
    /// it. A fork of the process stops nothing: it has no thread to join.
    static std::shared_ptr<ProtocolThread> share(std::unique_ptr<ProtocolThread> thread);
    ~ProtocolThread();
    ProtocolThread(const ProtocolThread&) = delete;
    ProtocolThread& operator=(const ProtocolThread&) = delete;

    /// True if the calling thread is a protocol thread.
    [[nodiscard]] static bool on_one() noexcept;
    [[nodiscard]] Driver& driver() noexcept { return driver_; }
    /// Uses these keys for handshakes that start from now on; on the protocol thread. Returns true if they replace
    /// another pre-shared key, or the kind of keys: no earlier connection has a valid key then.
    bool set_keys(EndpointDeps::Keys keys);
    /// Runs the driver on a thread of its own. Throws std::system_error if the process has no thread left.
    void start();
    /// Processor time that the driver's thread has needed so far; any thread.
    [[nodiscard]] Duration thread_time() const;
    /// Starts what stop() completes, so that several drain at the same time. Call stop() afterwards.
    void begin_stop(Duration at_most);
    /// Gives closes up to `at_most` to reach the peers, then ends the thread. It may be called again.
    void stop(Duration at_most);

  private:
    ProtocolThread(std::unique_ptr<EndpointDeps> deps, const TransportConfig& config, const Driver::Options& options);

    ForkGuard fork_guard_;
    std::unique_ptr<EndpointDeps> deps_;
    Driver driver_;
    std::thread thread_;
    std::mutex stop_;           // held by the caller that joins thread_
    mutable std::mutex mutex_;  // guards the members below
    std::optional<ThreadTime> thread_time_;
};

}  // namespace udtx::io
