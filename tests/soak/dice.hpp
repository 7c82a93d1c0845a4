// The random draws of an episode, made from its seed.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "sim/prng.hpp"
#include "udtx/rate.hpp"

namespace udtx::soak {

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : prng_(sim::Prng::derive(seed, 0x736f616b)) {}

    [[nodiscard]] bool chance(double p) noexcept { return prng_.chance(p); }
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept { return prng_.below(bound); }
    [[nodiscard]] double between(double low, double high) noexcept {
        return low + (high - low) * static_cast<double>(prng_.next() >> 11U) * 0x1.0p-53;
    }
    /// Draws a value so that each order of magnitude is equally likely.
    [[nodiscard]] double magnitude(double low, double high) noexcept {
        return std::exp(between(std::log(low), std::log(high)));
    }
    [[nodiscard]] Duration time(double low, double high) noexcept { return seconds(magnitude(low, high)); }
    template <class T, std::size_t N>
    [[nodiscard]] T one_of(const std::array<T, N>& values) noexcept {
        return values[static_cast<std::size_t>(below(N))];
    }
    [[nodiscard]] static Duration seconds(double s) noexcept { return Duration(static_cast<std::int64_t>(s * 1e9)); }

  private:
    sim::Prng prng_;
};

}  // namespace udtx::soak
