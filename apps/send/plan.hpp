// udtx-send plan -N COUNT SRC...
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "options/commands.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Prints where a tree is split into shards.
[[nodiscard]] ExitCode run_plan(Log& log, std::vector<std::string> arguments);

/// For --shard without --plan: scans the sources and splits them in the same way as each of the other shards.
[[nodiscard]] Result<void> split_sources(SendCommand& command, Log& log);

}  // namespace udtx::apps
