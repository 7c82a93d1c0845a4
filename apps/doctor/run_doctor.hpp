// `udtx-send doctor`: this host, and with a host the other end and the path to it.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/terminal.hpp"

namespace udtx::apps {

/// Without the first word.
[[nodiscard]] ExitCode run_doctor(Terminal& terminal, std::vector<std::string> arguments);

}  // namespace udtx::apps
