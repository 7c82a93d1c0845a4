// Reads a small file of the user as a whole: lists, keys, receipts.
#pragma once

#include <string>

#include "udtx/result.hpp"

namespace udtx::apps {

/// file_io: the file cannot be read, or it is a directory. The message is "cannot read 'NAME': why".
[[nodiscard]] Result<std::string> read_file(const std::string& path);

}  // namespace udtx::apps
