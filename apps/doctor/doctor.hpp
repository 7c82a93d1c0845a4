// `doctor`: finds what slows transfers down, and the commands that fix it.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "send/probe.hpp"

namespace udtx::apps {

struct Finding {
    bool good = true;
    std::string what;      ///< "UDP buffers: receive 208 KiB, send 208 KiB"
    std::string remedy{};  ///< a command or a piece of advice; empty when all is well
    /// The exit code of a transfer with this fault. It is ok if the fault only slows transfers.
    ExitCode code = ExitCode::ok;
};

/// Examines UDP in both directions, the largest packets that pass, and the clocks. `ports` are the ports of -O.
[[nodiscard]] std::vector<Finding> examine_between(const PathProbe& probe, const std::string& host, PortRange ports);

/// Examines this host: network, timers, clock, processor, disk. With a HOST, udtx-send also examines the other end and
/// the path to it. `arguments`: those after "doctor".
[[nodiscard]] ExitCode run_doctor(Log& log, Terminal& terminal, const std::string& tool,
                                  std::vector<std::string> arguments);

}  // namespace udtx::apps
