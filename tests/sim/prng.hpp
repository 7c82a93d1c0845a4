// Seeded randomness with the same numbers on every platform: xoshiro256** (Blackman & Vigna 2018), its state filled by
// splitmix64. Standard libraries differ in the distributions of <random>, so they are not used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "udtx/core/crypto.hpp"

namespace udtx::sim {

[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
}

class Prng {
  public:
    explicit constexpr Prng(std::uint64_t seed) noexcept {
        for (auto& word : s_) word = splitmix64(seed);
    }
    /// An independent generator for the part of a scenario with this number.
    [[nodiscard]] static constexpr Prng derive(std::uint64_t seed, std::uint64_t part) noexcept {
        std::uint64_t mixed = part;
        return Prng(seed ^ splitmix64(mixed));
    }

    constexpr std::uint64_t next() noexcept {
        const std::uint64_t result = rotl(s_[1] * 5U, 7U) * 9U;
        const std::uint64_t t = s_[1] << 17U;
        s_[2] ^= s_[0];
        s_[3] ^= s_[1];
        s_[1] ^= s_[2];
        s_[0] ^= s_[3];
        s_[2] ^= t;
        s_[3] = rotl(s_[3], 45U);
        return result;
    }
    /// A number in [0, bound); bound > 0. The modulo bias is below 2^-32 for every bound that a simulation uses.
    constexpr std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
    /// True with probability p. Draws nothing for p <= 0, so that unused faults do not shift the numbers of other
    /// faults.
    constexpr bool chance(double p) noexcept {
        if (p <= 0.0) return false;
        return static_cast<double>(next() >> 11U) * 0x1.0p-53 < p;
    }

  private:
    static constexpr std::uint64_t rotl(std::uint64_t v, unsigned k) noexcept { return (v << k) | (v >> (64U - k)); }
    std::array<std::uint64_t, 4> s_{};
};

/// The random source that the core uses in the simulator.
class SimRng final : public Rng {
  public:
    explicit SimRng(std::uint64_t seed) noexcept : prng_(seed) {}
    void fill(std::span<std::byte> out) override {
        while (!out.empty()) {
            std::uint64_t v = prng_.next();
            const std::size_t n = out.size() < sizeof v ? out.size() : sizeof v;
            for (std::size_t i = 0; i < n; ++i, v >>= 8U) out[i] = static_cast<std::byte>(v & 0xffU);
            out = out.subspan(n);
        }
    }

  private:
    Prng prng_;
};

}  // namespace udtx::sim
