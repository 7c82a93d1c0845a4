// Virtual-time types of the protocol core.
//
// The core never asks for the time: it is handed an Instant with every call. CoreClock therefore has no now(),
// so that core code which tries to read a clock does not compile.
#pragma once

#include <chrono>
#include <cstdint>

namespace udtx {

using Duration = std::chrono::nanoseconds;

/// Names the type of a time, as std::chrono wants it, and has no time to tell.
struct CoreClock {
    using rep = std::int64_t;
    using period = std::nano;
    using duration = Duration;
    using time_point = std::chrono::time_point<CoreClock, Duration>;
    static constexpr bool is_steady = true;
};

/// Nanoseconds since an epoch that the driver (or the simulator) chose; only differences mean anything.
using Instant = CoreClock::time_point;

/// UDT's SYN interval: rate control and acknowledgement period (UDT4; Gu & Grossman 2007, section 3.2).
inline constexpr Duration kSynInterval = std::chrono::milliseconds(10);

[[nodiscard]] constexpr double to_seconds(Duration d) noexcept { return std::chrono::duration<double>(d).count(); }
[[nodiscard]] constexpr Duration from_seconds(double s) noexcept {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

}  // namespace udtx
