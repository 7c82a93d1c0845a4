// Log lines of the library, and quantities as text for people.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "udtx/export.hpp"
#include "udtx/rate.hpp"

namespace udtx {

// Quantities as text for people.

/// Formats bytes with three significant digits and a decimal prefix: "1.05 GB".
[[nodiscard]] UDTX_EXPORT std::string bytes_text(std::uint64_t bytes);
/// Formats minutes, hours and days: "0:07", "12:34", "3:04:05", "9d 03h".
[[nodiscard]] UDTX_EXPORT std::string clock_text(Duration duration);
/// Formats times below one minute as "1.50 s" or "12.0 s", and longer ones as clock_text() does.
[[nodiscard]] UDTX_EXPORT std::string elapsed_text(Duration duration);

// Messages that no call returns: which addresses are tried, and which paths open and close.

/// The audience of a message.
enum class LogLevel : std::uint8_t {
    detail,   ///< for those who look for a fault
    warning,  ///< for everybody: something does not work as requested, but the session continues
};

/// Receives one line, without a newline. The protocol thread calls it, one call at a time for each session or listener.
/// It must return soon, must not throw, and must not call the session. The text may contain names that the peer chose.
/// An empty function drops all messages.
using LogSink = std::function<void(LogLevel level, const std::string& text)>;

}  // namespace udtx
