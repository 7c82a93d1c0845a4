// udtx-recv verify RECEIPT DIR
#pragma once

#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/exit_codes.hpp"
#include "common/log.hpp"

namespace udtx::apps {

/// `arguments` excludes the first word. Prints each difference as a line on standard output.
[[nodiscard]] ExitCode run_verify(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
