// Parses --overwrite, at either end.
#pragma once

#include <string>

#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::apps {

/// Accepts "never", "diff" or "always".
[[nodiscard]] inline Result<transfer::Overwrite> parse_overwrite(const std::string& text) {
    if (text == "never") return transfer::Overwrite::never;
    if (text == "diff") return transfer::Overwrite::diff;
    if (text == "always") return transfer::Overwrite::always;
    return Error{ErrorCode::invalid_argument, "--overwrite: '" + text + "' is unknown; use never, diff or always"};
}

}  // namespace udtx::apps
