// Pipes that other programs gave us.
#pragma once

#include "udtx/descriptor.hpp"

namespace udtx::transfer {

/// Lets a pipe hold a MiB, where the system permits: fewer turns for who writes and who reads. No effect on others.
void widen_pipe(int fd) noexcept;
/// Another descriptor of a pipe, to write to, which does not block: the flag of `fd` itself is shared with other
/// programs. None: it cannot be had.
[[nodiscard]] UniqueFd writer_without_blocking(int pipe);

}  // namespace udtx::transfer
