// Whether a TransportConfig makes sense, asked once where a configuration comes in.
#pragma once

#include "udtx/config.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx::proto {

/// invalid_argument names the field and what it may be. The application's plug-ins are made once, to see that they can
/// be.
[[nodiscard]] UDTX_EXPORT Result<void> check(const TransportConfig& config);

}  // namespace udtx::proto
