// How a session ended.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/error.hpp"

namespace udtx {

struct CloseReason {
    ErrorCode code = ErrorCode::internal;  ///< what it means to us
    bool by_peer = false;                  ///< it said so; else this end found it, or closed
    bool application = false;              ///< an application closed, with `wire_code`; else the transport gave up
    std::uint64_t wire_code = 0;           ///< 0 and application: an orderly end
    std::string message;                   ///< from the peer: text of its choice, for people
    [[nodiscard]] bool orderly() const noexcept { return application && wire_code == 0; }
};

}  // namespace udtx
