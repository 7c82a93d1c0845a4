// A UDP port, or a range of which udtx takes a free one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "udtx/result.hpp"

namespace udtx::apps {

struct PortRange {
    std::uint16_t first = 0;  ///< 0: the system chooses
    std::uint16_t last = 0;

    friend bool operator==(const PortRange&, const PortRange&) = default;
};

/// Parses "60000" or "60000-60010".
Result<PortRange> parse_port_range(std::string_view text);
[[nodiscard]] std::string to_string(PortRange range);

}  // namespace udtx::apps
