// The directory in which running transfers of one user find each other: $XDG_RUNTIME_DIR/udtx, or else /tmp/udtx-UID.
#pragma once

#include <string>

#include "udtx/result.hpp"

namespace udtx::apps {

/// Creates the directory with mode 0700 if it is missing. file_io: it cannot be created, or it belongs to another user.
[[nodiscard]] Result<std::string> runtime_directory();

}  // namespace udtx::apps
