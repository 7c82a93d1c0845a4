// What UDT4 takes from a window of samples: those near their median.
#pragma once

#include "probing/constants.hpp"

namespace udtx::probing {

/// Both bounds are strict, as in UDT4.
[[nodiscard]] constexpr bool near_median(double value, double median) noexcept {
    return value > median / kNearMedian && value < median * kNearMedian;
}

}  // namespace udtx::probing
