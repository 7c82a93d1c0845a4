// Measures a line: sends bytes for some seconds, which the receiver drops. No file is involved.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "udtx/export.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

/// Which line to measure, and for how long.
struct MeasureRequest {
    std::string host{};       ///< name or address of a server
    std::uint16_t port = 0;   ///< its UDP port
    Credentials credentials;  ///< that the server accepts
    /// Time after the handshake. It becomes twenty round trips where that is longer, at most 15 s.
    Duration time = std::chrono::seconds(4);
    DialOptions dial{};  ///< how to reach the server
    Events events{};     ///< what the program is told
};

/// Starts to measure. Look at Transfer::stats() and Progress::bytes_sent; nothing is delivered. Errors as those of
/// start_send().
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_measure(MeasureRequest request);

}  // namespace udtx::transfer
