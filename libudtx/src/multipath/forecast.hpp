// What a datagram given to a path now would meet there.
#pragma once

#include "udtx/scheduler.hpp"

namespace udtx::multipath {

struct Forecast {
    double rate = 0.0;   ///< r_i, bytes/s
    double delay = 0.0;  ///< owd_i, s
    double eta = 0.0;    ///< from now until it arrives, s

    static constexpr double kAssumedRtt = 0.05;  ///< of a path without a sample, s
    static constexpr double kBloatedRtts = 2.5;  ///< sRTT over base RTT from which the window says how fast a path is
};

[[nodiscard]] Forecast forecast(Instant now, const PathView& path);

}  // namespace udtx::multipath
