// Named scenarios in virtual time. Each judges the controller under test by one number and takes any seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "sim/flows.hpp"

namespace udtx::bench {

/// Makes the controller under test. Null: a TCP flow with the kernel's BBR.
using Maker = CongestionFactory;

/// Part of a full link's bytes that are stream bytes.
inline constexpr double kPayload = 0.96;

struct Figure {
    double value = 0.0;     ///< larger is better
    double queue_ms = 0.0;  ///< mean, on drawn links
    double dropped = 0.0;   ///< part of the packets that the full queue drops, on drawn links
};

struct Cell {
    std::string_view name;
    std::string_view what;  ///< describes the link and the number
    /// Runs the scenario and returns its number. A larger number is better.
    std::function<double(const Maker& maker, std::uint64_t seed)> run;
};

/// A flow with the controller under test.
[[nodiscard]] sim::FlowSpec under_test(const Maker& maker, Duration start = {}, Duration rtt = {});

/// One flow over lines whose rate, delay and loss change by themselves.
[[nodiscard]] std::vector<Cell> wireless_cells();
/// The downloads of draft-huitema-ccwg-c4-test.
[[nodiscard]] std::vector<Cell> c4_cells();

/// All scenarios.
[[nodiscard]] const std::vector<Cell>& cells();

}  // namespace udtx::bench
