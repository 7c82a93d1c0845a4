// The clock of the library's threads.
#pragma once

#include "udtx/export.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// The present time by std::chrono::steady_clock. It never goes back.
[[nodiscard]] UDTX_EXPORT Instant monotonic_now() noexcept;

}  // namespace udtx
