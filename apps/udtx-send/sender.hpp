// One run of udtx-send, from checked options to the report.
#pragma once

#include <vector>

#include "common/log.hpp"
#include "common/signals.hpp"
#include "common/terminal.hpp"
#include "io/driver.hpp"
#include "report/final_report.hpp"
#include "udtx-send/options.hpp"
#include "udtx/address.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

struct SendRun {
    const SendCommand& command;
    Log& log;
    Terminal& terminal;
    SignalWatch& signals;
};

using LeaveSender = void (*)(const SendRun&, const FinalReport&);
/// Ends by `leave`, which must not return, when threads may still sit in a disk call: after an interruption and when
/// a transfer does not wind up in time. Returns the report otherwise.
[[nodiscard]] FinalReport run_sender(const SendRun& run, LeaveSender leave);

}  // namespace udtx::apps
