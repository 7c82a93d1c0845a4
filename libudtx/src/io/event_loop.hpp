// What a protocol thread waits for, and how it wakes up in time.
#pragma once

#include <poll.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_safety.hpp"
#include "os/byte_stream.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/rate.hpp"

namespace udtx::io {

// Prompt wake-ups on a busy machine, for a thread that paces packets.

/// Requests the shortest time slice for the calling thread. The thread then runs less long at a time. In return its
/// wake-up need not wait until another thread's slice ends (Linux 6.12 and later; no effect elsewhere). It needs no
/// privileges and takes no share from others. False if nothing changed.
bool ask_for_short_slice() noexcept;

/// Makes waits of the calling thread end on time. Linux delays the end of a wait by up to 50 us to save energy, which
/// is longer than the time between two paced batches.
void ask_for_exact_waits() noexcept;

/// A write to a pipe or socket that nobody reads fails with EPIPE, without a signal to this thread.
void ignore_broken_pipes() noexcept;

// What a protocol thread waits for: its socket, a time, and calls that other threads post. It has no code of another
// library: programs that link the archive may contain such code in another version.

/// Any thread may call post() and interrupt(). One thread at a time calls the rest.
class EventLoop {
  public:
    /// Directions of a socket.
    struct Readiness {
        bool readable = false;
        bool writable = false;
    };

    /// Throws std::system_error if the process has no descriptor left.
    EventLoop();
    /// Drops calls that did not run.
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    /// Throws std::bad_alloc if memory is short; interrupt() does not need any.
    void post(std::function<void()> fn);
    void interrupt() noexcept;
    /// True once after each interrupt().
    [[nodiscard]] bool take_interrupt() noexcept;

    /// Number of posted calls that wait for run_one().
    [[nodiscard]] std::size_t posted() noexcept;
    /// Runs the oldest posted call. It is removed first, even if it throws.
    void run_one();

    /// Waits until `fd` is ready in a direction that `wanted` has, one of `others` is ready, `until` is over, or there
    /// is a call or an interrupt. An error of a descriptor makes it ready in all wanted directions.
    [[nodiscard]] Readiness wait(int fd, Readiness wanted, std::optional<Instant> until,
                                 std::span<os::Watch> others = {});

  private:
    void wake() noexcept;

    std::vector<pollfd> entries_;  // of the present wait()
    UniqueFd wake_read_;
    UniqueFd wake_write_;  // none if wake_read_ serves both directions
    Mutex mutex_;
    std::deque<std::function<void()>> posted_ GUARDED_BY(mutex_);
    bool interrupted_ GUARDED_BY(mutex_) = false;
    bool waiting_ GUARDED_BY(mutex_) = false;  // wait() needs a wake-up
};

}  // namespace udtx::io
