// What the gaps of packet pairs tell of a line too slow for trains.
//
// Cross traffic only ever widens a gap at the bottleneck, so that the 20th percentile of the gaps of the last kPairLife
// is the line's. Stamps of a card that coalesces interrupts make each gap a multiple of its period: too long as often
// as too short, and zero where both packets waited for one interrupt. There the mean of those near that percentile,
// zeros included, is right. Where no two packets share an interrupt nothing tells of the card, but two gaps a beat
// apart do, as long as the beat is at most half of the gap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probing/constants.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

class LinePairs {
  public:
    /// The second packet of a pair, of `bytes`, came at `time`, `gap` after the first.
    void on_pair(Instant time, Duration gap, std::uint32_t bytes);
    /// ns per byte, as seen at `now`; 0 = unknown. `granularity`: of stamps.
    [[nodiscard]] double time_of_byte(Instant now, Duration granularity) const;

  private:
    struct Gap {
        Instant time;
        Duration length{};
        std::uint32_t bytes = 0;
    };

    std::array<Gap, kPairs> gaps_{};  // a circle; the count only grows
    std::size_t count_ = 0;
};

}  // namespace udtx::probing
