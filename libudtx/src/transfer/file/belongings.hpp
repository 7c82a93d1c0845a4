// What belongs to a file beside its data, each set by itself: what one file system refuses costs nothing else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

/// Called with what could not be set, and the errno.
using OnUnset = std::function<void(Belonging what, int error_number)>;

struct Owner {
    std::uint32_t user = 0;
    std::uint32_t group = 0;
};

/// 0 or an errno; the group is set also where the user cannot be.
[[nodiscard]] int set_owner(int fd, const Owner& owner);
/// 0 or an errno, also when a special bit was dropped in silence (of a group that one is not in). Nothing is done where
/// the mode is right.
[[nodiscard]] int set_mode(int fd, std::uint32_t mode);

}  // namespace udtx::transfer
