// Runs udtx-send once: from checked options to the report.
#pragma once

#include "observe/final_report.hpp"
#include "options/run.hpp"

namespace udtx::apps {

using LeaveSender = void (*)(const SendRun&, const FinalReport&);
/// Calls `leave`, which must not return, if threads may still be blocked in a disk call. That is after an interruption,
/// and if a transfer does not end in time. Otherwise returns the report.
[[nodiscard]] FinalReport run_sender(const SendRun& run, LeaveSender leave);

}  // namespace udtx::apps
