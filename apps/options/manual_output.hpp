// The JSON objects that the commands print, with their fields: the section OUTPUT of the manual pages.
#pragma once

#include <string_view>
#include <vector>

#include "common/manual.hpp"

namespace udtx::apps {

/// `command`: as for manual_of(). Empty: the command prints no JSON, or its manual has no list.
[[nodiscard]] std::vector<Manual::Output> output_of(std::string_view command);

}  // namespace udtx::apps
