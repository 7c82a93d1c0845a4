// Holds a listener's sessions from their handshake until the program accepts them.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "io/driver.hpp"
#include "io/protocol_thread.hpp"
#include "io/session_state.hpp"
#include "io/waiting_calls.hpp"
#include "udtx/log.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

class AcceptQueue {
  public:
    using StatePtr = std::shared_ptr<SessionState>;

    /// `most`: how many sessions may wait, as many as may be connected. `log` receives the events of their paths.
    AcceptQueue(std::size_t most, LogSink log) : most_(most), log_(std::move(log)) {}

    /// The callback for Driver::listen(); runs on the protocol thread. Null if the queue is closed or full.
    StatePtr add(Driver& driver, proto::Connection& connection);

    /// Every call that finds no session fails with `why` from now on; protocol thread.
    void fail(const Error& why);

    // --- user threads
    Result<StatePtr> take(std::chrono::milliseconds timeout);
    CallId start_take(Callback<StatePtr> done);
    void cancel();
    void cancel(CallId call);
    /// Accepts no further sessions and closes those that still wait.
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
    std::optional<Error> failed_;
};

}  // namespace udtx::io
