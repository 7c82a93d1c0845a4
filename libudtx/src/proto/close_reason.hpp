// Transport close codes on the wire, and what they mean to an application.
#pragma once

#include <cstdint>

#include "udtx/core/event.hpp"
#include "wire/frame.hpp"

namespace udtx::proto {

enum class CloseCode : std::uint64_t {
    none = 0,
    internal = 1,
    protocol = 2,        ///< a rule was broken, or a frame was malformed
    authentication = 3,  ///< the handshake refused the peer's credentials
    no_room = 4,         ///< too many connections
    limits = 5,          ///< AEAD limits reached
};

[[nodiscard]] CloseCode close_code_for(ErrorCode code) noexcept;
[[nodiscard]] CloseReason close_reason_from_peer(const wire::CloseFrame& frame);

}  // namespace udtx::proto
