// How a session ended.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/error.hpp"

namespace udtx {

/// Why a session ended, and who ended it.
struct CloseReason {
    ErrorCode code = ErrorCode::internal;  ///< class of the cause
    bool by_peer = false;                  ///< the peer ended it; else this end did, or found the cause
    bool application = false;              ///< a program closed it, with `wire_code`; else the transport did
    std::uint64_t wire_code = 0;  ///< of a program: that of close(); of the transport: docs/inside/wire-format.md
    std::string message;          ///< for people; of the peer's text, control bytes are hexadecimal: "\x0a"
    /// A program closed it with code 0.
    [[nodiscard]] bool orderly() const noexcept { return application && wire_code == 0; }
};

}  // namespace udtx
