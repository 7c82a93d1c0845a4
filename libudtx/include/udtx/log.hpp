// Messages that no call returns: which addresses are tried, and which paths open and close.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace udtx {

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
