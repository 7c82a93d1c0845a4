// Application close codes of a transfer: what one end tells the other when it ends the connection.
#pragma once

#include <cstdint>

#include "udtx/result.hpp"

namespace udtx::transfer {

/// On the wire; never renumber. 0 is an orderly end: the sender has read CONFIRM.
enum class CloseCode : std::uint64_t {
    done = 0,
    interrupted = 1,
    protocol = 2,
    refused = 3,
    file_io = 4,
    integrity = 5,
    timeout = 6,
    internal = 7,
    superseded = 8,
};

[[nodiscard]] CloseCode close_code_for(ErrorCode code) noexcept;
/// What a code from the peer means to us; unknown numbers are a protocol error.
[[nodiscard]] ErrorCode error_code_for(std::uint64_t wire_code) noexcept;

}  // namespace udtx::transfer
