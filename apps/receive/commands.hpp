// The subcommands of udtx-recv: clean, receipt, verify. `arguments`: those after the word.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"

namespace udtx::apps {

/// Removes the files that aborted transfers left.
[[nodiscard]] ExitCode run_clean(Log& log, std::vector<std::string> arguments);
/// Merges the receipts of all shards into one.
[[nodiscard]] ExitCode run_receipt(Log& log, std::vector<std::string> arguments);
/// Compares a directory with a receipt. Prints each difference as a line on standard output.
[[nodiscard]] ExitCode run_verify(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
