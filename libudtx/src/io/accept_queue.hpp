// Sessions of a listener between their handshake and the program that takes them.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "io/driver.hpp"
#include "io/fork_guard.hpp"
#include "io/session_state.hpp"
#include "io/waiting_calls.hpp"
#include "udtx/log.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

class AcceptQueue {
  public:
    using StatePtr = std::shared_ptr<SessionState>;

    /// As many may wait as may be connected. `log` is told of the paths of the sessions.
    AcceptQueue(std::size_t most, LogSink log) : most_(most), log_(std::move(log)) {}

    /// For Driver::listen(), on the protocol thread: null once the queue was closed or is full.
    StatePtr add(Driver& driver, proto::Connection& connection);

    // --- user threads
    Result<StatePtr> take(std::chrono::milliseconds timeout);
    CallId start_take(Callback<StatePtr> done);
    void cancel();
    void cancel(CallId call);
    /// Nobody is let in any more; who was not taken yet is told.
    void close();

  private:
    std::optional<Result<StatePtr>> try_take();

    ForkGuard fork_guard_;
    std::mutex mutex_;
    WaitingCalls calls_;
    std::deque<StatePtr> waiting_;
    const std::size_t most_;
    const LogSink log_;
    bool open_ = true;
};

}  // namespace udtx::io
