// INT, TERM, HUP and XCPU as something a thread can wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>

#include "udtx/time.hpp"

namespace udtx::apps {

/// One object a process, made before any thread. SIGPIPE and SIGXFSZ are ignored from then on: a closed pipe and a file
/// that is too long are errors of write(). So are SIGUSR1 and SIGUSR2.
class SignalWaiter {
  public:
    /// So often whoever waits for something else as well looks whether it has come.
    static constexpr std::chrono::milliseconds kTurn{100};

    SignalWaiter();
    ~SignalWaiter();
    SignalWaiter(const SignalWaiter&) = delete;
    SignalWaiter& operator=(const SignalWaiter&) = delete;

    /// The next signal, or nothing after `timeout` or wake().
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds timeout);
    /// Ends a wait() of another thread early.
    void wake();

  private:
    int read_end_ = -1;
    int write_end_ = -1;
};

/// What signals ask for.
class Interruption {
  public:
    /// Signals so soon after the first are the same wish: one Ctrl-C reaches a tool twice when `timeout` or a script
    /// hands it on.
    static constexpr Duration kOneGesture = std::chrono::seconds(1);

    enum class Wish {
        wind_up,  ///< the first
        nothing,  ///< the first once more
        leave,    ///< a later one: at once
    };
    [[nodiscard]] Wish on_signal(int signal, Instant now) noexcept;
    [[nodiscard]] int signal() const noexcept { return signal_; }  ///< the first one; 0: none

  private:
    int signal_ = 0;
    Instant first_{};
};

/// Adds those that a SignalWaiter ignores: a child is to have them as we had.
void restore_ignored(sigset_t& defaults) noexcept;

[[nodiscard]] const char* signal_name(int signal) noexcept;

}  // namespace udtx::apps
