// Measures the speed of a directory's disk, or reports why writing fails.
#pragma once

#include <string>
#include <vector>

#include "doctor/findings.hpp"

namespace udtx::apps {

/// Writes and reads a temporary file for a few seconds at most.
[[nodiscard]] std::vector<Finding> examine_disk(const std::string& directory);

}  // namespace udtx::apps
