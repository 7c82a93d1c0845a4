// Time types of the protocol core.
//
// The core reads no clock: the caller passes an Instant to each call. CoreClock has no now(), so core code that tries
// to read a clock does not compile.
#pragma once

#include <chrono>
#include <cstdint>

namespace udtx {

/// A length of time. The durations of std::chrono convert to it.
using Duration = std::chrono::nanoseconds;

/// Gives Instant its type. No code reads this clock.
struct CoreClock {
    /// The members that a clock of std::chrono has.
    ///@{
    using rep = std::int64_t;
    using period = std::nano;
    using duration = Duration;
    using time_point = std::chrono::time_point<CoreClock, Duration>;
    static constexpr bool is_steady = true;
    ///@}
};

/// Nanoseconds since an epoch that the driver or the simulator chooses. Only differences have a meaning.
using Instant = CoreClock::time_point;

/// Period of UDT's rate control and acknowledgements, its SYN interval (Gu and Grossman, UDT, 2007, section 3.2).
inline constexpr Duration kSynInterval = std::chrono::milliseconds(10);

/// Converts to seconds.
[[nodiscard]] constexpr double to_seconds(Duration d) noexcept { return std::chrono::duration<double>(d).count(); }
/// Converts from seconds.
[[nodiscard]] constexpr Duration from_seconds(double s) noexcept {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

}  // namespace udtx
