// `udtx-send doctor`: examines this host, and if a host is given, also the other end and the path to it.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/terminal.hpp"

namespace udtx::apps {

/// `arguments` excludes the first word.
[[nodiscard]] ExitCode run_doctor(Terminal& terminal, std::vector<std::string> arguments);

}  // namespace udtx::apps
