// What a control socket understands: "rate 100M", "rate off", "rate auto", "status", "describe".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "control/control_socket.hpp"
#include "control/rate_governor.hpp"

namespace udtx::apps {

/// How a transfer goes.
struct ControlStatus {
    std::function<std::string()> json;   ///< one object
    std::function<std::string()> lines;  ///< for people; a tab between two lines
};
/// `rates` outlives the handler; null: the cap is not this side's.
[[nodiscard]] ControlSocket::Handler control_handler(RateGovernor* rates, ControlStatus status);

/// `TOOL ctl PID|SOCKET COMMAND...`, without the first two words.
[[nodiscard]] ExitCode run_ctl(Log& log, const std::string& tool, std::vector<std::string> arguments);

}  // namespace udtx::apps
