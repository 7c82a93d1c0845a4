#include "probing/arrival_speed.hpp"

#include <algorithm>

#include "probing/near_median.hpp"

namespace udtx::probing {

double ArrivalSpeed::packets_per_second() const {
    const std::size_t known = std::min(count_, kIntervals);
    if (known <= kIntervals / 2) return 0.0;
    std::array<double, kIntervals> sorted{};
    for (std::size_t i = 0; i < known; ++i) sorted[i] = intervals_[i].per_packet_ns;
    // UDT4 takes the upper of the two middle values.
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
    const double median = *middle;
    double time_ns = 0.0;
    double packets = 0.0;
    std::size_t passed = 0;
    for (std::size_t i = 0; i < known; ++i) {
        const Interval& interval = intervals_[i];
        if (!near_median(interval.per_packet_ns, median)) continue;
        ++passed;
        time_ns += interval.per_packet_ns * interval.packets;
        packets += interval.packets;
    }
    return passed > kIntervals / 2 ? packets * 1e9 / time_ns : 0.0;
}

}  // namespace udtx::probing
