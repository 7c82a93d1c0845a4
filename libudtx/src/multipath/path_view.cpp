#include "multipath/path_view.hpp"

#include <algorithm>

namespace udtx::multipath {

// owd_i = sRTT_i - base_i/2: all queueing is assumed to be in the forward direction.
// r_i = x_i, or at most window/sRTT if the path is bloated. Then less arrives than congestion control believes.
Forecast forecast(Instant now, const PathView& path) {
    const bool sampled = path.smoothed_rtt > Duration::zero();
    const double rtt = sampled ? to_seconds(path.smoothed_rtt) : Forecast::kAssumedRtt;
    const double base = sampled ? std::min(to_seconds(path.min_rtt), rtt) : Forecast::kAssumedRtt;
    const double by_window = std::max(static_cast<double>(path.window), static_cast<double>(path.datagram_bytes)) / rtt;

    Forecast f;
    const bool known = !path.rate.is_zero() && !path.rate.is_infinite();
    f.rate = known ? path.rate.bytes_per_second() : by_window;
    if (rtt > Forecast::kBloatedRtts * base) f.rate = std::min(f.rate, by_window);
    f.delay = rtt - base / 2.0;
    const double paced = std::max(0.0, to_seconds(path.departure - now));
    const std::uint64_t needed = path.in_flight + path.datagram_bytes;
    const double closed = needed > path.window ? static_cast<double>(needed - path.window) / f.rate : 0.0;
    f.eta = std::max(paced, closed) + path.datagram_bytes / f.rate + f.delay;
    return f;
}

}  // namespace udtx::multipath
