// Where running transfers of one user find each other: $XDG_RUNTIME_DIR/udtx, or else /tmp/udtx-UID.
#pragma once

#include <string>

#include "udtx/result.hpp"

namespace udtx::apps {

/// Made if it is missing, with mode 0700. file_io: it cannot be had, or is another user's.
[[nodiscard]] Result<std::string> runtime_directory();

}  // namespace udtx::apps
