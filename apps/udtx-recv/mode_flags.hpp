// What udtx-recv takes depends on what it does: it listens, or it fetches.
#pragma once

#include "udtx-recv/options.hpp"

namespace CLI {
class App;
}

namespace udtx::apps {

/// invalid_argument names a typed flag that would do nothing. What a file or the environment sets is for both.
[[nodiscard]] Result<void> check_flags_of_mode(const CLI::App& app, const RecvCommand& command);

}  // namespace udtx::apps
