// Times of the protocol core.
//
// The core reads no clock: each call brings an Instant. CoreClock has no now(), so that code of the core that tries to
// read it does not compile.
#pragma once

#include <chrono>
#include <cstdint>

namespace udtx {

/// A length of time. Durations of std::chrono convert to it.
using Duration = std::chrono::nanoseconds;

/// A clock for the type of Instant only.
struct CoreClock {
    /// As of a clock of std::chrono.
    ///@{
    using rep = std::int64_t;
    using period = std::nano;
    using duration = Duration;
    using time_point = std::chrono::time_point<CoreClock, Duration>;
    static constexpr bool is_steady = true;
    ///@}
};

/// Nanoseconds since some epoch of the driver or of the simulator: only differences mean something.
using Instant = CoreClock::time_point;

/// Period of UDT's rate control and acknowledgements, its SYN interval (Gu and Grossman, UDT, 2007, section 3.2).
inline constexpr Duration kSynInterval = std::chrono::milliseconds(10);

/// In seconds.
[[nodiscard]] constexpr double to_seconds(Duration d) noexcept { return std::chrono::duration<double>(d).count(); }
/// `s` seconds.
[[nodiscard]] constexpr Duration from_seconds(double s) noexcept {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

}  // namespace udtx
