// Interval between messages that nobody waits for.
#pragma once

#include <algorithm>

#include "udtx/core/connection.hpp"

namespace udtx::transfer {

/// An end that works without other news says so.
inline constexpr Duration kStepInterval = std::chrono::seconds(1);

/// On a narrow return path each packet takes long, and acknowledgements need that path.
inline Duration report_pace(const proto::Connection& connection, Duration least) {
    constexpr int kRoundTripsApart = 8;
    constexpr Duration kLongestApart = std::chrono::seconds(5);
    const ConnectionStats stats = connection.stats();
    if (stats.paths.empty()) return least;
    return std::clamp(kRoundTripsApart * stats.paths.front().smoothed_rtt, least, kLongestApart);
}

}  // namespace udtx::transfer
