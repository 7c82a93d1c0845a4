// One run of udtx-send, from checked options to the report.
#pragma once

#include "observe/final_report.hpp"
#include "options/run.hpp"

namespace udtx::apps {

using LeaveSender = void (*)(const SendRun&, const FinalReport&);
/// Ends by `leave`, which must not return, when threads may still sit in a disk call: after an interruption and when
/// a transfer does not wind up in time. Returns the report otherwise.
[[nodiscard]] FinalReport run_sender(const SendRun& run, LeaveSender leave);

}  // namespace udtx::apps
