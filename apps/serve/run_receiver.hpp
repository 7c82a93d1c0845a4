// Runs a listening receiver once: from checked options to the report.
#pragma once

#include "observe/final_report.hpp"
#include "options/run.hpp"

namespace udtx::apps {

/// Calls `leave`, which must not return, if threads may still be blocked in a disk call after an interruption.
/// Otherwise returns the report.
[[nodiscard]] FinalReport run_receiver(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&));

}  // namespace udtx::apps
