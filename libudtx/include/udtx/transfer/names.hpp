// File names as text for people. A name is a byte string and may contain control sequences for a terminal.
#pragma once

#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

/// Writes control bytes, backslashes and quotes in hexadecimal (`\x1b`). The name then cannot control a terminal or
/// forge a log line.
[[nodiscard]] UDTX_EXPORT std::string escape_name(std::string_view name);
/// Writes control bytes in hexadecimal. Use it for a whole line from the peer, whose names are already escaped.
[[nodiscard]] UDTX_EXPORT std::string escape_line(std::string_view line);
/// True if `name` is that of a temporary file or of a journal. Running and interrupted transfers have such files.
[[nodiscard]] UDTX_EXPORT bool is_transfer_file(std::string_view name);

}  // namespace udtx::transfer
