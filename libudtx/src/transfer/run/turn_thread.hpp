// A thread that looks after a transfer or a server, several times a second.
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

    /// Calls `turn` every 100 ms and after a wake(), until it gives false. Throws std::system_error where the process
    /// has no thread left. After stop() it may be called again.
    void start(std::function<bool()> turn);
    /// Any thread.
    void wake() noexcept;
    /// Waits for the turn that is under way; not from within one.
    void stop() noexcept;

  private:
    void run(const std::function<bool()>& turn);

    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    bool woken_ = false;
    bool stopped_ = false;
    std::thread thread_;
};

}  // namespace udtx::transfer
