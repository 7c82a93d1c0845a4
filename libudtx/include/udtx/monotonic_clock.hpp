// The clock of the library's threads.
#pragma once

#include "udtx/export.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// Returns the current time of std::chrono::steady_clock, which never goes back.
[[nodiscard]] UDTX_EXPORT Instant monotonic_now() noexcept;

}  // namespace udtx
