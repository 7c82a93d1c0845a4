// Examines the network between this host and one that ssh reaches, for `doctor`.
#pragma once

#include <string>
#include <vector>

#include "common/exit_codes.hpp"
#include "common/log.hpp"
#include "doctor/host.hpp"
#include "send/probe.hpp"

namespace udtx::apps {

/// Examines UDP in both directions, the largest packets that pass, and the clocks. `ports` are the ports of -O.
[[nodiscard]] std::vector<Finding> examine_between(const PathProbe& probe, const std::string& host, PortRange ports);

// `udtx-send doctor`: examines this host, and if a host is given, also the other end and the path to it.

/// `arguments` excludes the first word.
[[nodiscard]] ExitCode run_doctor(Terminal& terminal, std::vector<std::string> arguments);

}  // namespace udtx::apps
