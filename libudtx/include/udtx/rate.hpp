// Times and data rates, each with its own type.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace udtx {

// Time types of the protocol core.
//
// The core reads no clock: the caller passes an Instant to each call. CoreClock has no now(), so core code that tries
// to read a clock does not compile.

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

// Data rates. The type prevents confusion of bits and bytes.

/// A data rate. The default is zero. An infinite rate means no limit.
class Rate {
  public:
    constexpr Rate() noexcept = default;
    /// A rate of `v` bits per second.
    [[nodiscard]] static constexpr Rate bits_per_second(double v) noexcept { return Rate(v); }
    /// A rate of `v` bytes per second.
    [[nodiscard]] static constexpr Rate bytes_per_second(double v) noexcept { return Rate(v * 8.0); }
    /// The infinite rate: no limit.
    [[nodiscard]] static constexpr Rate infinite() noexcept { return Rate(std::numeric_limits<double>::infinity()); }
    /// The rate of `bytes` in the time `d`; zero if `d` is not positive.
    [[nodiscard]] static constexpr Rate from_bytes(std::uint64_t bytes, Duration d) noexcept {
        return d.count() > 0 ? Rate(static_cast<double>(bytes) * 8.0 / to_seconds(d)) : Rate();
    }

    /// Bits per second.
    [[nodiscard]] constexpr double bps() const noexcept { return bps_; }
    /// Bytes per second.
    [[nodiscard]] constexpr double bytes_per_second() const noexcept { return bps_ / 8.0; }
    /// True if the rate is zero.
    [[nodiscard]] constexpr bool is_zero() const noexcept { return bps_ <= 0.0; }
    /// True if the rate is infinite.
    [[nodiscard]] constexpr bool is_infinite() const noexcept {
        return bps_ == std::numeric_limits<double>::infinity();
    }
    /// Time that `bytes` take at this rate; zero at an infinite rate. The rate must not be zero.
    [[nodiscard]] constexpr Duration time_for(std::uint64_t bytes) const noexcept {
        return is_infinite() ? Duration::zero() : from_seconds(static_cast<double>(bytes) * 8.0 / bps_);
    }
    /// Bytes that pass in the time `d`.
    [[nodiscard]] constexpr double bytes_in(Duration d) const noexcept { return bps_ / 8.0 * to_seconds(d); }

    /// Comparison and arithmetic of the bits per second.
    ///@{
    friend constexpr auto operator<=>(Rate, Rate) noexcept = default;
    friend constexpr Rate operator*(Rate r, double k) noexcept { return Rate(r.bps_ * k); }
    friend constexpr Rate operator+(Rate a, Rate b) noexcept { return Rate(a.bps_ + b.bps_); }
    friend constexpr Rate operator-(Rate a, Rate b) noexcept { return Rate(a.bps_ - b.bps_); }
    ///@}

  private:
    constexpr explicit Rate(double v) noexcept : bps_(v) {}
    double bps_ = 0.0;
};

}  // namespace udtx
