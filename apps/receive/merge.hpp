// udtx-recv receipt merge OUT IN...
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"

namespace udtx::apps {

/// Merges the receipts of all shards into one.
[[nodiscard]] ExitCode run_receipt(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
