// File descriptors of the process: opens 0, 1 and 2 if they are closed, raises the limit on descriptors, writes a whole
// text.
#pragma once

#include <array>
#include <string_view>

namespace udtx::apps {

/// Create it first in main(). It opens /dev/null for each of the descriptors 0 to 2 that the caller had closed.
/// Otherwise the first pipes and sockets of this process would get these numbers, and `-` would read from them.
class StandardDescriptors {
  public:
    StandardDescriptors() noexcept;
    /// True if `fd` was closed when the tool was started.
    [[nodiscard]] bool was_closed(int fd) const noexcept { return closed_[static_cast<std::size_t>(fd)]; }

  private:
    std::array<bool, 3> closed_{};
};

/// Raises the limit on open descriptors as far as the system permits, to at most 16,384. Each served transfer needs
/// several.
void raise_descriptor_limit() noexcept;

/// Writes all of `text`. Returns 0 or an errno.
[[nodiscard]] int write_all(int fd, std::string_view text) noexcept;

}  // namespace udtx::apps
