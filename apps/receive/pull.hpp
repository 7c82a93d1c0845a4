// Fetches: udtx-recv HOST:SRC... DEST over ssh, or udtx-recv udtx://HOST/SRC... DEST from a server, and udtx-recv when
// it is started over ssh to receive.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"

namespace udtx::apps {

/// Calls `leave` of the run in the same cases as run_receiver().
[[nodiscard]] FinalReport run_pull(const RecvCommand& command, const Run& run);

/// Receives the one transfer that standard input requests. `arguments`: the words after --bootstrap. Errors before the
/// connection are reported on standard output (docs/using/ssh.md). It ends the process itself if threads may still be
/// blocked in a disk call.
[[nodiscard]] ExitCode receive_by_bootstrap(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
