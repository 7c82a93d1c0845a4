// udtx-send plan -N COUNT SRC...
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "options/send_command.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Prints where a tree is cut.
[[nodiscard]] ExitCode run_plan(Log& log, std::vector<std::string> arguments);

/// With --shard and without --plan: walks the sources and cuts them as each of the other shards does.
[[nodiscard]] Result<void> split_sources(SendCommand& command, Log& log);

}  // namespace udtx::apps
