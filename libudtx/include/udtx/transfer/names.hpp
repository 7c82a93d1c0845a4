// Names of files for people to read. A name is bytes, and may hold some that steer a terminal.
#pragma once

#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

/// Writes control bytes, backslashes and quotes in hexadecimal (`\x1b`), so that a name cannot steer a terminal or
/// forge a line of a log.
[[nodiscard]] UDTX_EXPORT std::string escape_name(std::string_view name);
/// Writes control bytes in hexadecimal: for a whole line from the peer, in which names are escaped already.
[[nodiscard]] UDTX_EXPORT std::string escape_line(std::string_view line);
/// Whether a name is that of a temporary file or of a journal, which a transfer under way or one that ended early has.
[[nodiscard]] UDTX_EXPORT bool is_transfer_file(std::string_view name);

}  // namespace udtx::transfer
