// Application close codes of a transfer: the reason that one end gives the other when it closes the connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/core/connection.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"

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
    no_resources = 11,
};

[[nodiscard]] CloseCode close_code_for(ErrorCode code) noexcept;
/// Translates a code from the peer; an unknown number is a protocol error.
[[nodiscard]] ErrorCode error_code_for(std::uint64_t wire_code) noexcept;

/// The error of a connection that was closed. `peer`: goes before the words of the program at the other end.
[[nodiscard]] Error error_for(const proto::CloseReason& reason, const char* peer = "");

/// The reason of an orderly close: the sender's last counters, since no message after CONFIRM is sure to arrive. Empty
/// if it would be longer than a reason may be.
[[nodiscard]] std::string last_counters(const std::vector<SenderPath>& paths);
/// Puts them into what the last PATHS said. Other text changes nothing.
void take_last_counters(std::string_view reason, std::vector<SenderPath>& paths);

}  // namespace udtx::transfer
