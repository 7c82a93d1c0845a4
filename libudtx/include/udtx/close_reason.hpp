// How a session ended.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/error.hpp"

namespace udtx {

/// Why a session ended, and which side ended it.
struct CloseReason {
    ErrorCode code = ErrorCode::internal;  ///< error class of the cause
    bool by_peer = false;      ///< true: the peer ended the session; false: this end ended it or detected the cause
    bool application = false;  ///< true: a program closed the session with `wire_code`; false: the transport ended it
    std::uint64_t wire_code = 0;  ///< argument of close(), or the transport's code (docs/inside/wire-format.md)
    std::string message;          ///< text for people; control bytes of the peer's text are in hexadecimal: "\x0a"
    /// True if a program closed the session with code 0.
    [[nodiscard]] bool orderly() const noexcept { return application && wire_code == 0; }
};

}  // namespace udtx
