// The settings of both tools, because they share their configuration files.
#pragma once

#include <string>
#include <vector>

namespace udtx::apps {

[[nodiscard]] std::vector<std::string> known_settings();

}  // namespace udtx::apps
