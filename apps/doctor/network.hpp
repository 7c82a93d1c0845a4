// What of this host's network slows transfers down: socket buffers, offloads, MTU.
#pragma once

#include <vector>

#include "doctor/findings.hpp"

namespace udtx::apps {

[[nodiscard]] std::vector<Finding> examine_network();

}  // namespace udtx::apps
