// Sends: udtx-send from checked options to the report, and udtx-send when it is started over ssh.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Calls `leave` of the run if threads may still be blocked in a disk call: after an interruption, and if a transfer
/// does not end in time.
[[nodiscard]] FinalReport run_push(const SendCommand& command, const Run& run);

/// Sends the one transfer that standard input requests. `arguments`: the words after --bootstrap. Errors before the
/// connection are reported on standard output (docs/using/ssh.md). It ends the process itself if threads may still be
/// blocked in a disk call.
[[nodiscard]] ExitCode send_by_bootstrap(const std::vector<std::string>& arguments);

/// `udtx-send plan`: prints where a tree is split into shards. `arguments`: those after the word.
[[nodiscard]] ExitCode run_plan(Log& log, std::vector<std::string> arguments);

/// For --shard without --plan: scans the sources and splits them in the same way as each of the other shards.
[[nodiscard]] Result<void> split_sources(SendCommand& command, Log& log);

}  // namespace udtx::apps
