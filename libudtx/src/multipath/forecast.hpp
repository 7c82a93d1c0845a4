// What would happen to a datagram that is assigned to a path now.
#pragma once

#include "udtx/scheduler.hpp"

namespace udtx::multipath {

struct Forecast {
    double rate = 0.0;   ///< r_i, bytes/s
    double delay = 0.0;  ///< owd_i, s
    double eta = 0.0;    ///< time from now until it arrives, s

    static constexpr double kAssumedRtt = 0.05;  ///< of a path without an RTT sample, s
    static constexpr double kBloatedRtts = 2.5;  ///< ratio of sRTT to base RTT from which the window bounds the rate
};

[[nodiscard]] Forecast forecast(Instant now, const PathView& path);

}  // namespace udtx::multipath
