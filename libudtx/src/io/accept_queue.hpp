// Sessions of a listener between their handshake and the program that takes them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "io/driver.hpp"
#include "io/fork_guard.hpp"
#include "io/session_state.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

class AcceptQueue {
  public:
    /// As many may wait as may be connected.
    explicit AcceptQueue(std::size_t most) : most_(most) {}

    /// For Driver::listen(), on the protocol thread: null once the queue was closed or is full.
    std::shared_ptr<SessionState> add(Driver& driver, proto::Connection& connection);

    // --- user threads
    Result<std::shared_ptr<SessionState>> take(std::chrono::milliseconds timeout);
    /// Nobody is let in any more; who was not taken yet is told.
    void close();

  private:
    ForkGuard fork_guard_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<SessionState>> waiting_;
    std::size_t most_;
    bool open_ = true;
};

}  // namespace udtx::io
