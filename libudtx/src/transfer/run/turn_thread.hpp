// Measures how long a transfer has made no progress.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "udtx/time.hpp"
#include "udtx/transfer/progress.hpp"

namespace udtx::transfer {

class StallWatch {
  public:
    [[nodiscard]] Duration idle(Instant now, const Progress& progress) {
        // The transport accepts data for a while after the path has failed, so bytes_sent counts only until bytes are
        // delivered.
        const std::uint64_t sent = progress.bytes_done > 0 ? 0 : progress.bytes_sent;
        const Mark mark{progress.phase, progress.files_done, progress.files_total, progress.bytes_done,
                        sent,           progress.bytes_kept, progress.steps};
        if (!last_ || *last_ != mark) {
            last_ = mark;
            since_ = now;
        }
        return now - since_;
    }

  private:
    struct Mark {
        Phase phase{};
        std::uint64_t files_done = 0;
        std::uint64_t files_total = 0;
        std::uint64_t bytes_done = 0;
        std::uint64_t bytes_sent = 0;
        std::uint64_t bytes_kept = 0;
        std::uint64_t steps = 0;
        friend bool operator==(const Mark&, const Mark&) = default;
    };
    std::optional<Mark> last_;
    Instant since_{};
};

// A thread that watches a transfer or a server, several times a second.

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
