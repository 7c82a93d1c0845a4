// The commands of a control socket: "rate 100M", "rate off", "rate auto", "status", "describe".
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

/// Functions that report the state of a transfer.
struct ControlStatus {
    std::function<std::string()> json;   ///< one JSON object
    std::function<std::string()> lines;  ///< for users; a tab separates two lines
};
/// `rates` must outlive the handler. Null: this side does not control the cap.
[[nodiscard]] ControlSocket::Handler control_handler(RateGovernor* rates, ControlStatus status);

/// Runs `TOOL ctl PID|SOCKET COMMAND...`. `arguments` excludes the first two words.
[[nodiscard]] ExitCode run_ctl(Log& log, const std::string& tool, std::vector<std::string> arguments);

}  // namespace udtx::apps
