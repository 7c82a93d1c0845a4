// Lets a thread wait for the signals INT, TERM, HUP and XCPU.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "udtx/time.hpp"

namespace udtx::apps {

/// Create one object per process, before any thread. From then on SIGPIPE and SIGXFSZ are ignored, so a closed pipe or
/// a file above the size limit makes write() fail. SIGUSR1 and SIGUSR2 are ignored too. A signal that the caller of the
/// program ignores stays ignored: nohup does so with HUP, a shell with INT in its background jobs.
class SignalWaiter {
  public:
    /// Timeout for wait() in a thread that must also check for another event.
    static constexpr std::chrono::milliseconds kTurn{100};

    SignalWaiter();
    ~SignalWaiter();
    SignalWaiter(const SignalWaiter&) = delete;
    SignalWaiter& operator=(const SignalWaiter&) = delete;

    /// The next signal. Empty after `timeout` or wake().
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds timeout);
    /// Ends another thread's wait() early.
    void wake();

  private:
    int read_end_ = -1;
    int write_end_ = -1;
    std::vector<int> caught_;
};

/// What the signals ask the program to do.
class Interruption {
  public:
    /// A signal within this time after the first one counts as the same request: one Ctrl-C arrives twice if `timeout`
    /// or a script forwards it. Nobody sends a second signal on purpose so soon.
    static constexpr Duration kOneGesture = std::chrono::milliseconds(200);

    enum class Wish {
        wind_up,   ///< the first signal: end in an orderly way
        repeated,  ///< within kOneGesture: repeated_signal() tells the user
        leave,     ///< a later signal: exit at once
    };
    [[nodiscard]] Wish on_signal(int signal, Instant now) noexcept;
    [[nodiscard]] int signal() const noexcept { return signal_; }  ///< the first signal; 0: none

  private:
    int signal_ = 0;
    Instant first_{};
};

/// Adds the signals that SignalWaiter ignores, so that a child process starts with their default actions.
void restore_ignored(sigset_t& defaults) noexcept;

[[nodiscard]] const char* signal_name(int signal) noexcept;
/// The message about a signal that counts as a repetition.
[[nodiscard]] std::string repeated_signal(int signal);

}  // namespace udtx::apps
