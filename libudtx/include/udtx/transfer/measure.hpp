// Measures a network path: sends bytes for some seconds, which the receiver drops. No file is read or written.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "udtx/export.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

/// What to measure, and for how long.
struct MeasureRequest {
    std::string host{};       ///< name or address of a server
    std::uint16_t port = 0;   ///< its UDP port
    Credentials credentials;  ///< credentials that the server accepts
    /// Duration after the handshake. If twenty round trips are longer, it becomes these, at most 15 s.
    Duration time = std::chrono::seconds(4);
    DialOptions dial{};  ///< how to reach the server
    Events events{};     ///< callbacks of the program
};

/// Starts a measurement. Read the result from Transfer::stats() and Progress::bytes_sent; no data is delivered. Errors
/// as in start_send().
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_measure(MeasureRequest request);

}  // namespace udtx::transfer
