// A thread that watches a transfer or a server, several times a second.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace udtx::transfer {

class TurnThread {
  public:
    TurnThread() = default;
    ~TurnThread() { stop(); }
    TurnThread(const TurnThread&) = delete;
    TurnThread& operator=(const TurnThread&) = delete;

    /// Calls `turn` every 100 ms and after each wake(), until it returns false. Throws std::system_error if the process
    /// cannot create a thread. After stop() it may be called again.
    void start(std::function<bool()> turn);
    /// Any thread.
    void wake() noexcept;
    /// Waits for the turn that is running; do not call it from within one.
    void stop() noexcept;

  private:
    void run(const std::function<bool()>& turn);

    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    bool woken_ = false;
    bool stopped_ = false;
    std::thread thread_;
};

}  // namespace udtx::transfer
