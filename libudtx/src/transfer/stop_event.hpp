// Lets one thread end another's wait on a descriptor.
#pragma once

#include <array>

#include "udtx/descriptor.hpp"

namespace udtx::transfer {

class StopEvent {
  public:
    /// std::system_error: there are no descriptors for it.
    StopEvent();
    /// Any thread; for good.
    void stop() noexcept;
    /// Waits until `fd` is ready for `events` (POLLIN, POLLOUT) or stop(). False: stopped.
    [[nodiscard]] bool wait(int fd, short events) const noexcept;
    /// Ready right now.
    [[nodiscard]] static bool ready(int fd, short events) noexcept;

  private:
    UniqueFd read_end_;
    UniqueFd write_end_;
};

}  // namespace udtx::transfer
