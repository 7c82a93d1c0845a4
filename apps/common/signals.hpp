// INT, TERM and HUP as something a thread can wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

namespace udtx::apps {

/// One object a process, made before any thread. SIGPIPE is ignored from then on: a closed pipe is an error of write().
class SignalWatch {
  public:
    SignalWatch();
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

    /// The next signal, or nothing after `timeout` or wake().
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds timeout);
    /// Ends a wait() of another thread early.
    void wake();

  private:
    int read_end_ = -1;
    int write_end_ = -1;
};

[[nodiscard]] const char* signal_name(int signal) noexcept;

}  // namespace udtx::apps
