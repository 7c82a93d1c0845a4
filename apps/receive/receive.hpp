// Fetches: udtx-recv from checked options to the report, and udtx-recv when it is started over ssh. Also its
// subcommands clean, receipt and verify. `arguments`: those after the word.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"

namespace udtx::apps {

/// Calls `leave` of the run in the same cases as run_receiver().
[[nodiscard]] FinalReport run_pull(const RecvCommand& command, const Run& run);

/// Receives the one transfer that standard input requests. `arguments`: the words after --bootstrap. Errors before the
/// connection are reported on standard output (docs/using/ssh.md). It ends the process itself if threads may still be
/// blocked in a disk call.
[[nodiscard]] ExitCode receive_by_bootstrap(const std::vector<std::string>& arguments);

/// Removes the files that aborted transfers left.
[[nodiscard]] ExitCode run_clean(Log& log, std::vector<std::string> arguments);
/// Merges the receipts of all shards into one.
[[nodiscard]] ExitCode run_receipt(Log& log, std::vector<std::string> arguments);
/// Compares a directory with a receipt. Prints each difference as a line on standard output.
[[nodiscard]] ExitCode run_verify(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
