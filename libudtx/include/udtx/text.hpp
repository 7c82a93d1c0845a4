// Quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/export.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// Three significant digits with a decimal prefix: "1.05 GB".
[[nodiscard]] UDTX_EXPORT std::string bytes_text(std::uint64_t bytes);
/// "0:07", "12:34", "3:04:05", "9d 03h"
[[nodiscard]] UDTX_EXPORT std::string clock_text(Duration duration);
/// The same from a minute on; "1.50 s", "12.0 s" below.
[[nodiscard]] UDTX_EXPORT std::string elapsed_text(Duration duration);

}  // namespace udtx
