// Small values shared by the rooms' front desk and its parts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace udtx::proto {

struct ReadResult {
    std::size_t bytes = 0;
    bool end = false;  ///< the stream's end was reached
};

struct StreamCounters {
    std::uint64_t bytes_sent = 0;  ///< payload, first transmissions
    std::uint64_t bytes_resent = 0;
    std::uint64_t bytes_received = 0;  ///< payload, each byte once
};

}  // namespace udtx::proto
