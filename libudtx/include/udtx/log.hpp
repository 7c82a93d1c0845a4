// Messages that are no result of a call: which addresses are tried, which paths come and go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace udtx {

/// Whom a message is for.
enum class LogLevel : std::uint8_t {
    detail,   ///< those who look for a fault
    warning,  ///< everybody: something does not work as asked; the session goes on
};

/// Takes one line, without its end. It is called on the protocol thread, one call at a time for each session or
/// listener. It returns soon, throws nothing and calls nothing of the session. The text may hold names that the peer
/// chose. An empty function takes nothing.
using LogSink = std::function<void(LogLevel level, const std::string& text)>;

}  // namespace udtx
