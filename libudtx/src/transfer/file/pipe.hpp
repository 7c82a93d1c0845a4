// Pipes that other programs gave us.
#pragma once

#include "udtx/descriptor.hpp"

namespace udtx::transfer {

/// Enlarges a pipe's buffer to 1 MiB if the system permits, so that writer and reader take fewer turns. It has no
/// effect on other descriptors.
void widen_pipe(int fd) noexcept;
/// Opens another, non-blocking descriptor of a pipe for writing. The flag of `fd` itself is shared with other programs.
/// None: the system refuses it.
[[nodiscard]] UniqueFd writer_without_blocking(int pipe);

}  // namespace udtx::transfer
