// SplitMix64 (Steele, Lea, Flood 2014): random numbers for controllers, from the seed that they get.
#pragma once

#include <cstdint>

namespace udtx::congestion {

class SplitMix {
  public:
    explicit SplitMix(std::uint64_t seed) noexcept : state_(seed) {}
    [[nodiscard]] std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31U);
    }
    /// In [0, 1).
    [[nodiscard]] double fraction() noexcept { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  private:
    std::uint64_t state_;
};

}  // namespace udtx::congestion
