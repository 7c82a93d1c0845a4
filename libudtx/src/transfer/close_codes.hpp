// Application close codes of a transfer: the reason that one end gives the other when it closes the connection.
#pragma once

#include <cstdint>

#include "udtx/result.hpp"

namespace udtx::transfer {

/// These numbers go on the wire: never renumber them. 0 is an orderly end: the sender has read CONFIRM.
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
    authentication = 9,
    going_away = 10,
};

[[nodiscard]] CloseCode close_code_for(ErrorCode code) noexcept;
/// Translates a code from the peer; an unknown number is a protocol error.
[[nodiscard]] ErrorCode error_code_for(std::uint64_t wire_code) noexcept;

}  // namespace udtx::transfer
