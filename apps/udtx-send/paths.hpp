// --path as it was typed.
#pragma once

#include <string>

#include "udtx/path.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Most --path options.
inline constexpr std::size_t kMostPaths = 8;

/// "LOCAL[,REMOTE][,weight=N]"
[[nodiscard]] Result<PathRequest> parse_path(const std::string& text);

}  // namespace udtx::apps
