// Scenarios that judge the default controller, each by one number: named, in virtual time, any seed.
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
    std::string_view what;  ///< the line, and what its number is
    /// The number: the more, the better.
    std::function<double(const Maker& maker, std::uint64_t seed)> run;
};

/// All of them.
[[nodiscard]] const std::vector<Cell>& cells();

}  // namespace udtx::bench
