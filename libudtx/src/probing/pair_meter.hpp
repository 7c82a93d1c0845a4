// UDT's capacity by the gaps of packet pairs, at the receiver (UDT4 CPktTimeWindow).
//
// Deviations from UDT4, all for links and kernels faster than it knew:
// - The window starts empty, not filled with 1 ms. So 0 means unknown.
// - Gaps are kept per byte, so that the datagram size may change.
// - Gaps below kLeastGap are discarded, as most come from two packets of one interrupt. If only such gaps come, the
//   path is faster than timestamps resolve. Then kLeastGap counts as the gap, which is a lower bound of the rate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probing/constants.hpp"
#include "udtx/time.hpp"

namespace udtx::probing {

class PairMeter {
  public:
    /// The second packet of a pair, of `bytes`, arrived `gap` after the first.
    void on_pair(Duration gap, std::uint32_t bytes);
    /// ns per byte by the whole window, filtered as in UDT; 0 = unknown.
    [[nodiscard]] double filtered_time_of_byte() const;
    /// Unfiltered gap of the newest pair; zero after it was taken.
    [[nodiscard]] Duration take_newest_gap();
    /// Bytes of the second packet of the newest pair; 0: no pair yet.
    [[nodiscard]] std::uint32_t newest_bytes() const noexcept { return newest_bytes_; }

  private:
    void keep(double gap);
    [[nodiscard]] std::size_t known() const noexcept { return count_ < kPairs ? count_ : kPairs; }

    std::array<double, kPairs> gaps_{};  // ns per byte; ring buffer, count_ only grows
    std::array<double, kPairs> sorted_{};
    std::size_t count_ = 0;
    std::size_t too_close_ = 0;  // pairs in a row below kLeastGap
    Duration newest_gap_{};
    std::uint32_t newest_bytes_ = 0;
};

}  // namespace udtx::probing
