// The clock by which the library's own threads tell an Instant.
#pragma once

#include "udtx/export.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// Time since an arbitrary start, on the same scale as std::chrono::steady_clock; never goes backwards.
[[nodiscard]] UDTX_EXPORT Instant monotonic_now() noexcept;

}  // namespace udtx
