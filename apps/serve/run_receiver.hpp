// One run of a receiver that listens, from checked options to the report.
#pragma once

#include "observe/final_report.hpp"
#include "options/run.hpp"

namespace udtx::apps {

/// Ends by `leave`, which must not return, when threads may still sit in a disk call: after an interruption. Returns
/// the report otherwise.
[[nodiscard]] FinalReport run_receiver(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&));

}  // namespace udtx::apps
