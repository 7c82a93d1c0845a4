// Named scenarios in virtual time. Each judges the controller under test by one number and takes any seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "udtx/congestion.hpp"

namespace udtx::bench {

/// Makes the controller under test.
using Maker = CongestionFactory;

struct Cell {
    std::string_view name;
    std::string_view what;  ///< describes the link and the number
    /// Runs the scenario and returns its number. A larger number is better.
    std::function<double(const Maker& maker, std::uint64_t seed)> run;
};

/// All scenarios.
[[nodiscard]] const std::vector<Cell>& cells();

}  // namespace udtx::bench
