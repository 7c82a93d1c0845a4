// udtx-send plan -N COUNT SRC...
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"

namespace udtx::apps {

/// Prints where a tree is cut.
[[nodiscard]] ExitCode run_plan(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
