// The windows that a connection begins with.
#pragma once

#include <algorithm>
#include <cstdint>

#include "udtx/config.hpp"

namespace udtx::proto {

struct FirstWindows {
    std::uint64_t connection = 0;  ///< bytes
    std::uint64_t stream = 0;      ///< bytes

    /// For one of so many connections of an endpoint. Those that begin together share what a lone one would have, as
    /// they share the line: a crowd whose packets are lost at its start would otherwise hold as many whole windows of
    /// data out of order. A window grows with what its connection delivers (stream::RightSize).
    [[nodiscard]] static FirstWindows of(const TransportConfig& config, std::uint64_t connections) noexcept {
        if (config.max_memory == 0) return {config.connection_window, config.stream_window};  // they could not grow
        const auto share = [connections](std::uint64_t lone) {
            return std::max(lone / std::max<std::uint64_t>(connections, 1), std::min(lone, kLeast));
        };
        return {share(config.connection_window), share(config.stream_window)};
    }

  private:
    /// Bytes: what the initial congestion window of RFC 6928 needs, twice. A small window that somebody sets stays.
    static constexpr std::uint64_t kLeast = 32ULL << 10U;
};

}  // namespace udtx::proto
