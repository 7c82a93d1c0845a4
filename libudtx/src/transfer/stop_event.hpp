// Lets one thread end another thread's wait on a descriptor.
#pragma once

#include <array>

#include "udtx/descriptor.hpp"

namespace udtx::transfer {

class StopEvent {
  public:
    /// std::system_error: no descriptors are left for it.
    StopEvent();
    /// Any thread; it cannot be undone.
    void stop() noexcept;
    /// Waits until `fd` is ready for `events` (POLLIN, POLLOUT) or until stop(). False: stopped.
    [[nodiscard]] bool wait(int fd, short events) const noexcept;
    /// True if `fd` is ready now; it does not wait.
    [[nodiscard]] static bool ready(int fd, short events) noexcept;

  private:
    UniqueFd read_end_;
    UniqueFd write_end_;
};

}  // namespace udtx::transfer
