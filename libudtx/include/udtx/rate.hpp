// Data rates. One strong type, bits per second inside, so that bytes/s and bits/s cannot be confused.
#pragma once

#include <cstdint>
#include <limits>

#include "udtx/time.hpp"

namespace udtx {

/// A data rate; infinite: no limit. Without a value: zero.
class Rate {
  public:
    constexpr Rate() noexcept = default;
    [[nodiscard]] static constexpr Rate bits_per_second(double v) noexcept { return Rate(v); }
    [[nodiscard]] static constexpr Rate bytes_per_second(double v) noexcept { return Rate(v * 8.0); }
    [[nodiscard]] static constexpr Rate infinite() noexcept { return Rate(std::numeric_limits<double>::infinity()); }
    /// `bytes` moved in `d`; zero when `d` is not positive.
    [[nodiscard]] static constexpr Rate from_bytes(std::uint64_t bytes, Duration d) noexcept {
        return d.count() > 0 ? Rate(static_cast<double>(bytes) * 8.0 / to_seconds(d)) : Rate();
    }

    [[nodiscard]] constexpr double bps() const noexcept { return bps_; }
    [[nodiscard]] constexpr double bytes_per_second() const noexcept { return bps_ / 8.0; }
    [[nodiscard]] constexpr bool is_zero() const noexcept { return bps_ <= 0.0; }
    [[nodiscard]] constexpr bool is_infinite() const noexcept {
        return bps_ == std::numeric_limits<double>::infinity();
    }
    /// Time that `bytes` take at this rate; zero for an infinite rate. Not to be asked of a zero rate.
    [[nodiscard]] constexpr Duration time_for(std::uint64_t bytes) const noexcept {
        return is_infinite() ? Duration::zero() : from_seconds(static_cast<double>(bytes) * 8.0 / bps_);
    }
    /// Bytes that pass in `d`.
    [[nodiscard]] constexpr double bytes_in(Duration d) const noexcept { return bps_ / 8.0 * to_seconds(d); }

    friend constexpr auto operator<=>(Rate, Rate) noexcept = default;
    friend constexpr Rate operator*(Rate r, double k) noexcept { return Rate(r.bps_ * k); }
    friend constexpr Rate operator+(Rate a, Rate b) noexcept { return Rate(a.bps_ + b.bps_); }
    friend constexpr Rate operator-(Rate a, Rate b) noexcept { return Rate(a.bps_ - b.bps_); }

  private:
    constexpr explicit Rate(double v) noexcept : bps_(v) {}
    double bps_ = 0.0;
};

}  // namespace udtx
