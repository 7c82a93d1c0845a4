// Where the tools keep what later runs of the user need.
#pragma once

#include <string>

namespace udtx::apps {

/// $XDG_STATE_HOME/udtx, or else ~/.local/state/udtx; empty: the user has no home. It may not exist yet.
[[nodiscard]] std::string state_directory();

}  // namespace udtx::apps
