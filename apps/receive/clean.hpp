// udtx-recv clean DIR
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"

namespace udtx::apps {

/// Removes the files that aborted transfers left.
[[nodiscard]] ExitCode run_clean(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
