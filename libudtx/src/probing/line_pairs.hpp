// Measures a link too slow for trains by the gaps of packet pairs.
//
// Cross traffic only widens a gap at the bottleneck, so the 20th percentile of the gaps of the last kPairLife is the
// link's. A card that coalesces interrupts rounds each gap to a multiple of its period, up as often as down. The gap is
// zero if both packets waited for one interrupt. Then the mean of the gaps near that percentile is right, zeros
// included. If no two packets share an interrupt, the granularity is unknown. Two gap values, one beat apart, still
// reveal the card, as long as the beat is at most half of the gap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probing/constants.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

class LinePairs {
  public:
    /// The second packet of a pair, of `bytes`, arrived at `time`, `gap` after the first.
    void on_pair(Instant time, Duration gap, std::uint32_t bytes);
    /// ns per byte, as seen at `now`; 0 = unknown. `granularity` is that of the timestamps.
    [[nodiscard]] double time_of_byte(Instant now, Duration granularity) const;

  private:
    struct Gap {
        Instant time;
        Duration length{};
        std::uint32_t bytes = 0;
    };

    std::array<Gap, kPairs> gaps_{};  // ring buffer; count_ only grows
    std::size_t count_ = 0;
};

}  // namespace udtx::probing
