// Data rates, in a type that names bits and bytes.
#pragma once

#include <cstdint>
#include <limits>

#include "udtx/time.hpp"

namespace udtx {

/// A data rate. Zero by default; infinite: no limit.
class Rate {
  public:
    constexpr Rate() noexcept = default;
    /// `v` bits a second.
    [[nodiscard]] static constexpr Rate bits_per_second(double v) noexcept { return Rate(v); }
    /// `v` bytes a second.
    [[nodiscard]] static constexpr Rate bytes_per_second(double v) noexcept { return Rate(v * 8.0); }
    /// No limit.
    [[nodiscard]] static constexpr Rate infinite() noexcept { return Rate(std::numeric_limits<double>::infinity()); }
    /// `bytes` in the time `d`; zero if `d` is not positive.
    [[nodiscard]] static constexpr Rate from_bytes(std::uint64_t bytes, Duration d) noexcept {
        return d.count() > 0 ? Rate(static_cast<double>(bytes) * 8.0 / to_seconds(d)) : Rate();
    }

    /// Bits a second.
    [[nodiscard]] constexpr double bps() const noexcept { return bps_; }
    /// Bytes a second.
    [[nodiscard]] constexpr double bytes_per_second() const noexcept { return bps_ / 8.0; }
    /// It is zero.
    [[nodiscard]] constexpr bool is_zero() const noexcept { return bps_ <= 0.0; }
    /// It is no limit.
    [[nodiscard]] constexpr bool is_infinite() const noexcept {
        return bps_ == std::numeric_limits<double>::infinity();
    }
    /// Time that `bytes` take; zero at an infinite rate. The rate must not be zero.
    [[nodiscard]] constexpr Duration time_for(std::uint64_t bytes) const noexcept {
        return is_infinite() ? Duration::zero() : from_seconds(static_cast<double>(bytes) * 8.0 / bps_);
    }
    /// Bytes that pass in `d`.
    [[nodiscard]] constexpr double bytes_in(Duration d) const noexcept { return bps_ / 8.0 * to_seconds(d); }

    /// Order, and arithmetic on the number of bits a second.
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
