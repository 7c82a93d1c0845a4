// A small file of the user's, whole: lists, keys, receipts.
#pragma once

#include <string>

#include "udtx/result.hpp"

namespace udtx::apps {

/// file_io: it cannot be read, or is a directory. "cannot read 'NAME': why".
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace udtx::apps
