// udtx-recv clean DIR
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"

namespace udtx::apps {

/// Removes what transfers that ended early left.
[[nodiscard]] ExitCode run_clean(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
