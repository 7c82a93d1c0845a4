// The manuals of both tools and of their subcommands.
#pragma once

#include <string_view>

#include "common/command_line.hpp"

namespace udtx::apps {

/// `command`: "udtx-send", "udtx-recv verify" and so on, as CLI::App::get_name() gives it.
[[nodiscard]] Manual manual_of(std::string_view command);

}  // namespace udtx::apps
