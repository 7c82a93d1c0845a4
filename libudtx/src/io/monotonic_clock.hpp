// The real clock behind Instant.
#pragma once

#include "udtx/time.hpp"

namespace udtx::io {

/// Time since an arbitrary start, on the same scale as std::chrono::steady_clock; never goes backwards.
[[nodiscard]] Instant monotonic_now() noexcept;

}  // namespace udtx::io
