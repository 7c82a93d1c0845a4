// The check of a TransportConfig.
#pragma once

#include "udtx/config.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::proto {

/// Checks all members, and makes one object by each factory. invalid_argument: a member is wrong; the message names it
/// and what it may be.
[[nodiscard]] UDTX_EXPORT Result<void> check(const TransportConfig& config);

}  // namespace udtx::proto
