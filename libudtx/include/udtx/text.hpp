// Quantities as text for people.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/export.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// Formats bytes with three significant digits and a decimal prefix: "1.05 GB".
[[nodiscard]] UDTX_EXPORT std::string bytes_text(std::uint64_t bytes);
/// Formats minutes, hours and days: "0:07", "12:34", "3:04:05", "9d 03h".
[[nodiscard]] UDTX_EXPORT std::string clock_text(Duration duration);
/// Formats times below one minute as "1.50 s" or "12.0 s", and longer ones as clock_text() does.
[[nodiscard]] UDTX_EXPORT std::string elapsed_text(Duration duration);

}  // namespace udtx
