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
        const std::uint64_t lone = config.stream_window;
        const std::uint64_t part = config.max_memory == 0 ? lone : lone / std::max<std::uint64_t>(connections, 1);
        const std::uint64_t stream = std::max(part, std::min(lone, config.least_window));
        if (stream == lone) return {config.connection_window, lone};
        // Of both the same part, so that one stream does not take the credit of all.
        const double share = static_cast<double>(stream) / static_cast<double>(lone);
        const double all = share * static_cast<double>(config.connection_window);
        return {std::max<std::uint64_t>(1, static_cast<std::uint64_t>(all)), stream};
    }
};

}  // namespace udtx::proto
