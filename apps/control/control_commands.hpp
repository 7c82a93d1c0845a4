// What a control socket understands: "rate 100M", "rate off", "rate auto", "status".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "control/control_socket.hpp"
#include "control/rate_governor.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// Both outlive the handler.
[[nodiscard]] ControlSocket::Handler control_handler(RateGovernor& rates, std::function<std::string()> status);

struct CtlCommand {
    std::vector<std::string> words;
};
void define_ctl(CLI::App& app, CtlCommand& command);
/// `udtx-send ctl PID|SOCKET COMMAND...`, without the first word.
[[nodiscard]] ExitCode run_ctl(Log& log, std::vector<std::string> arguments);

}  // namespace udtx::apps
