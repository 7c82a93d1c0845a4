// What one run of a tool has from its beginning: what was asked for, and how it speaks and listens.
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
