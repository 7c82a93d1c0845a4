// Quantities for people to read.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/export.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// Three significant digits with a decimal prefix: "1.05 GB".
[[nodiscard]] UDTX_EXPORT std::string bytes_text(std::uint64_t bytes);
/// Minutes, hours and days: "0:07", "12:34", "3:04:05", "9d 03h".
[[nodiscard]] UDTX_EXPORT std::string clock_text(Duration duration);
/// Below a minute "1.50 s" or "12.0 s"; from a minute on as clock_text().
[[nodiscard]] UDTX_EXPORT std::string elapsed_text(Duration duration);

}  // namespace udtx
