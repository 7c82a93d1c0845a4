// Names of files on their way to people: they are bytes, and may be meant to steer a terminal.
#pragma once

#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

/// Control bytes, backslashes and quotes as \xNN, so that a name cannot steer a terminal or forge a log line.
[[nodiscard]] UDTX_EXPORT std::string escape_name(std::string_view name);
/// The same for a whole line of the peer: it quotes names already, so that only control characters are dangerous.
[[nodiscard]] UDTX_EXPORT std::string escape_line(std::string_view line);
/// A temporary file or a journal of a transfer that is under way or ended early, by its name.
[[nodiscard]] UDTX_EXPORT bool is_transfer_file(std::string_view name);

}  // namespace udtx::transfer
