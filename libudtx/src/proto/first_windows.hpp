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
    /// data out of order. A window grows with what its connection delivers (stream::RightSize). One that may not grow,
    /// or that is smaller than the least, stays whole.
    [[nodiscard]] static FirstWindows of(const TransportConfig& config, std::uint64_t connections) noexcept {
        if (config.max_memory == 0) connections = 1;
        const auto share = [&](std::uint64_t lone) {
            return std::max(lone / std::max<std::uint64_t>(connections, 1), std::min(lone, config.least_window));
        };
        return {share(config.connection_window), share(config.stream_window)};
    }
};

}  // namespace udtx::proto
