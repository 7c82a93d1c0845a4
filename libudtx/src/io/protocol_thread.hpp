// Everything below a session or a transfer, made from what the user set: keys, randomness, socket, protocol thread.
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

/// So long the peer is given to hear of a close, where it may not have been heard of otherwise.
inline constexpr Duration kDrainAtMost = std::chrono::milliseconds(300);

/// Order of calls: make() and open() of the driver, or make_open(), what the driver is to do, start(), then stop().
/// Destroy it after everything that holds a Waker, and never on its own thread.
class ProtocolThread {
  public:
    /// What takes a few milliseconds and needs no key, once a process. make() does it if nobody had the time before.
    static void prepare();
    static Result<std::unique_ptr<ProtocolThread>> make(const Credentials& credentials, const TransportConfig& config,
                                                        const Driver::Options& options = {});
    /// For the side that dials: with a socket that reaches `ways`; those that it cannot reach are taken out.
    static Result<std::unique_ptr<ProtocolThread>> make_open(const Credentials& credentials,
                                                             const TransportConfig& config,
                                                             const Driver::Options& options,
                                                             std::vector<proto::PathAddresses>& ways);
    /// For several owners, of which the last one stops it; on its own thread that is left to another. In a fork of the
    /// process nothing is stopped: there is no thread to join, and taking the socket out of the shared epoll set would
    /// take it out of the parent's.
    static std::shared_ptr<ProtocolThread> share(std::unique_ptr<ProtocolThread> thread);
    ~ProtocolThread();
    ProtocolThread(const ProtocolThread&) = delete;
    ProtocolThread& operator=(const ProtocolThread&) = delete;

    /// This thread is one.
    [[nodiscard]] static bool on_one() noexcept;
    [[nodiscard]] Driver& driver() noexcept { return driver_; }
    /// Runs the driver on a thread of its own. Throws std::system_error where the process has no thread left.
    void start();
    /// What the driver's thread has needed so far; any thread.
    [[nodiscard]] Duration thread_time() const;
    /// The beginning of stop(), which is to follow: of several, all drain at the same time.
    void begin_stop(Duration at_most);
    /// Lets closes reach the peers for at most `at_most`, then ends the thread. May be repeated.
    void stop(Duration at_most);

  private:
    ProtocolThread(std::unique_ptr<EndpointDeps> deps, const TransportConfig& config, const Driver::Options& options);

    ForkGuard fork_guard_;
    std::unique_ptr<EndpointDeps> deps_;
    Driver driver_;
    std::thread thread_;
    std::mutex stop_;           // held by whoever joins it
    mutable std::mutex mutex_;  // guards what follows
    std::optional<ThreadTime> thread_time_;
};

}  // namespace udtx::io
