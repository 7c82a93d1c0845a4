// Examines the network between this host and one that ssh reaches, for `doctor`.
#pragma once

#include <string>
#include <vector>

#include "doctor/findings.hpp"
#include "send/probe.hpp"

namespace udtx::apps {

/// Examines UDP in both directions, the largest packets that pass, and the clocks. `ports` are the ports of -O.
[[nodiscard]] std::vector<Finding> examine_between(const PathProbe& probe, const std::string& host, PortRange ports);

}  // namespace udtx::apps
