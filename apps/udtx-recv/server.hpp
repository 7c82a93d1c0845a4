// One run of udtx-recv, from checked options to the report.
#pragma once

#include "common/log.hpp"
#include "common/signals.hpp"
#include "common/terminal.hpp"
#include "report/final_report.hpp"
#include "udtx-recv/options.hpp"

namespace udtx::apps {

struct RecvRun {
    const RecvCommand& command;
    Log& log;
    Terminal& terminal;
    SignalWatch& signals;
};

/// Ends by `leave`, which must not return, when threads may still sit in a disk call: after an interruption. Returns
/// the report otherwise.
[[nodiscard]] FinalReport run_receiver(const RecvRun& run, void (*leave)(const RecvRun&, const FinalReport&));

}  // namespace udtx::apps
