// What the gaps of packet pairs tell of the line (UDT4 CPktTimeWindow), at the receiver.
//
// Deviations from UDT4, all for links and kernels faster than it knew:
// - The window starts empty instead of filled with 1 ms: unknown is said as 0, not as a slow line.
// - Gaps are kept per byte, so that a change of the datagram size does not spoil the window.
// - Gaps under kLeastGap are discarded: mostly two packets of one interrupt. Where nothing else ever comes, the path is
//   faster than stamps can tell: at least this fast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probing/constants.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

class PairMeter {
  public:
    /// The second packet of a pair, of `bytes`, came `gap` after the first.
    void on_pair(Duration gap, std::uint32_t bytes);
    /// ns per byte by all of the window, as UDT filters it; 0 = unknown.
    [[nodiscard]] double filtered_time_of_byte() const;
    /// Gap of the newest pair, raw; zero once it was taken.
    [[nodiscard]] Duration take_newest_gap();
    /// Of the second packet of the newest pair; 0: none yet.
    [[nodiscard]] std::uint32_t newest_bytes() const noexcept { return newest_bytes_; }

  private:
    void keep(double gap);
    [[nodiscard]] std::size_t known() const noexcept { return count_ < kPairs ? count_ : kPairs; }

    std::array<double, kPairs> gaps_{};  // ns per byte; a circle, the count only grows
    std::array<double, kPairs> sorted_{};
    std::size_t count_ = 0;
    std::size_t too_close_ = 0;  // pairs in a row below kLeastGap
    Duration newest_gap_{};
    std::uint32_t newest_bytes_ = 0;
};

}  // namespace udtx::probing
