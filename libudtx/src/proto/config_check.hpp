// Whether a TransportConfig makes sense, asked once where a configuration comes in.
#pragma once

#include "udtx/config.hpp"
#include "udtx/result.hpp"

namespace udtx::proto {

/// invalid_argument names the field and what it may be.
[[nodiscard]] Result<void> check(const TransportConfig& config);

}  // namespace udtx::proto
