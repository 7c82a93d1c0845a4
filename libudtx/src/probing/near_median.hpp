// UDT4's filter for a window of samples: only those near the median count.
#pragma once

#include "probing/constants.hpp"

namespace udtx::probing {

/// Both bounds are strict, as in UDT4.
[[nodiscard]] constexpr bool near_median(double value, double median) noexcept {
    return value > median / kNearMedian && value < median * kNearMedian;
}

}  // namespace udtx::probing
