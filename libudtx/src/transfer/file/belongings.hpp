// The attributes of a file besides its data. Each is set by itself, so that one refusal of a file system affects no
// other attribute.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

/// Called with the attribute that could not be set, and the errno.
using OnUnset = std::function<void(Belonging what, int error_number)>;

struct Owner {
    std::uint32_t user = 0;
    std::uint32_t group = 0;
};

/// 0 or an errno. The group is set even if the user cannot be set.
[[nodiscard]] int set_owner(int fd, const Owner& owner);
/// 0 or an errno. It also fails if the system silently dropped a special bit, as it does for a group that the process
/// is not in. It makes no change if the mode is already right.
[[nodiscard]] int set_mode(int fd, std::uint32_t mode);

}  // namespace udtx::transfer
