// What a line carries: fills it for some seconds with bytes that the receiver drops, without a file.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "udtx/export.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {

struct MeasureRequest {
    std::string host{};
    std::uint16_t port = 0;
    Credentials credentials;
    /// So long after the handshake, or for twenty round trips where these are long, at most 15 s.
    Duration time = std::chrono::seconds(4);
    DialOptions dial{};
    Events events{};
};

/// A Transfer that delivers nothing: bytes_sent in its progress, and the figures in its statistics.
[[nodiscard]] UDTX_EXPORT Result<Transfer> start_measure(MeasureRequest request);

}  // namespace udtx::transfer
