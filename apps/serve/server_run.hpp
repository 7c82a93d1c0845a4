// A receiver that listens, from its options to its report.
#pragma once

#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "serve/server_end.hpp"

namespace udtx::apps {

/// Runs a listening receiver once: from checked options to the report.
/// Calls `leave` of the run if threads may still be blocked in a disk call after an interruption.
[[nodiscard]] FinalReport run_receiver(const RecvCommand& command, const Run& run);

}  // namespace udtx::apps
