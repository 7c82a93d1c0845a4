// udtx-recv clean DIR
#pragma once

#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/exit_codes.hpp"
#include "common/log.hpp"

namespace udtx::apps {

/// Removes the files that aborted transfers left.
[[nodiscard]] ExitCode run_clean(Log& log, std::vector<std::string> arguments);

// udtx-recv receipt merge OUT IN...

/// Merges the receipts of all shards into one.
[[nodiscard]] ExitCode run_receipt(Log& log, std::vector<std::string> arguments);

// udtx-recv verify RECEIPT DIR

/// `arguments` excludes the first word. Prints each difference as a line on standard output.
[[nodiscard]] ExitCode run_verify(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
