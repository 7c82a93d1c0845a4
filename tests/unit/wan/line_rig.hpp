// A simulated link in virtual time that starts at zero.
#pragma once

#include <vector>

#include "line.hpp"

namespace udtx::wan {

inline constexpr Instant kZero{};

/// A rate of one byte per microsecond and a delay of 10 ms.
inline LineParams plain_line() {
    LineParams params;
    params.rate = Rate::bits_per_second(8e6);
    params.delay = std::chrono::milliseconds(10);
    return params;
}

inline Line make_line(const LineParams& params, std::uint64_t seed = 1) {
    LineSetup setup;
    setup.phases = std::vector<Phase>(1, Phase{Duration::zero(), params});
    setup.seed = seed;
    return Line(kZero, setup);
}

}  // namespace udtx::wan
