// The objects that one run of a tool uses from its start: command, log, terminal, signals.
#pragma once

#include "common/log.hpp"
#include "common/signals.hpp"
#include "common/terminal.hpp"
#include "options/recv_command.hpp"
#include "options/send_command.hpp"

namespace udtx::apps {

struct SendRun {
    const SendCommand& command;
    Log& log;
    Terminal& terminal;
    SignalWaiter& signals;
};

struct RecvRun {
    const RecvCommand& command;
    Log& log;
    Terminal& terminal;
    SignalWaiter& signals;
};

}  // namespace udtx::apps
