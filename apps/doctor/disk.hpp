// How fast the disk of a directory is, or why nothing can be written there.
#pragma once

#include <string>
#include <vector>

#include "doctor/findings.hpp"

namespace udtx::apps {

/// Writes and reads a temporary file for some seconds at most.
[[nodiscard]] std::vector<Finding> examine_disk(const std::string& directory);

}  // namespace udtx::apps
