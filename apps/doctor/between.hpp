// What lies between this host and one that ssh reaches, as a doctor sees it.
#pragma once

#include <string>
#include <vector>

#include "doctor/findings.hpp"
#include "send/probe.hpp"

namespace udtx::apps {

/// UDP both ways, the largest packets that pass, the clocks. `ports`: those that -O named.
[[nodiscard]] std::vector<Finding> examine_between(const PathProbe& probe, const std::string& host, PortRange ports);

}  // namespace udtx::apps
