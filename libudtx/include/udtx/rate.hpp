// Data rates. The type prevents confusion of bits and bytes.
#pragma once

#include <cstdint>
#include <limits>

#include "udtx/time.hpp"

namespace udtx {

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
