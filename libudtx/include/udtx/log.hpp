// What the library has to tell that is no result of a call: which addresses are tried, paths that come and go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace udtx {

enum class LogLevel : std::uint8_t {
    detail,   ///< how it goes, for whoever looks for a fault
    warning,  ///< something asked for is not to be had; the session carries on
};

/// Takes one line without its end. Called on the protocol thread, one call at a time for each session or listener: it
/// returns soon, throws nothing and calls nothing of the session. The text may hold names that the peer chose. An empty
/// function: nobody listens.
using LogSink = std::function<void(LogLevel level, const std::string& text)>;

}  // namespace udtx
