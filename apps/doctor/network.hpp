// Finds what slows transfers down in this host's network: socket buffers, offloads, MTU.
#pragma once

#include <vector>

#include "doctor/findings.hpp"

namespace udtx::apps {

[[nodiscard]] std::vector<Finding> examine_network();

}  // namespace udtx::apps
