// Descriptors of the process: what stands behind 0, 1 and 2, how many there may be, writing all of a text.
#pragma once

#include <array>
#include <string_view>

namespace udtx::apps {

/// To be made first of all in main(). Descriptors 0 to 2 that the caller had closed lead to /dev/null from then on:
/// otherwise the first pipes and sockets of ours would take their numbers, and `-` would read from those.
class StandardDescriptors {
  public:
    StandardDescriptors() noexcept;
    /// It was closed when the tool was started.
    [[nodiscard]] bool was_closed(int fd) const noexcept { return closed_[static_cast<std::size_t>(fd)]; }

  private:
    std::array<bool, 3> closed_{};
};

/// As many descriptors as the system lets us have without asking (at most 16,384): each served transfer takes some.
void raise_descriptor_limit() noexcept;

/// 0 or an errno.
[[nodiscard]] int write_all(int fd, std::string_view text) noexcept;

}  // namespace udtx::apps
