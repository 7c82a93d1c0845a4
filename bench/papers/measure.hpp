// Computes the papers' fairness measures from the bytes that each flow delivered in each second. Does not need ns-3.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/fairness.hpp"

namespace udtx::papers {

using sim::jain;
/// Smallest share over largest share; 0 if all shares are zero.
[[nodiscard]] double min_over_max(std::span<const double> shares);
/// Mean of |x - fair| / fair with fair = mean of x; 0 if all shares are zero.
[[nodiscard]] double deviation(std::span<const double> shares);

/// Throughput of one flow in each second of the run, Mbit/s, and the time when it joined.
struct FlowSeconds {
    double joined_s = 0.0;
    std::vector<double> mbps;
};

struct Fairness {
    double jain = 0.0;
    double min_over_max = 0.0;
    double deviation = 0.0;
    std::size_t seconds = 0;  ///< number of seconds in the means
};

/// Shares in one second of the flows that had joined before that second started.
[[nodiscard]] std::vector<double> shares_in(std::span<const FlowSeconds> flows, std::size_t second);
/// Means of the per-second values over [from, to). Only seconds with two or more active flows count.
[[nodiscard]] Fairness mean_fairness(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to);
/// Fairness of the total bytes that each flow moved in [from, to). All flows count.
[[nodiscard]] Fairness fairness_of_totals(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to);
/// Mean throughput of all flows together over [from, to), Mbit/s.
[[nodiscard]] double mean_throughput(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to);
/// Seconds from the last join to the end of the first second whose Jain's index is at least `bound`. Returns nothing if
/// no second reaches `bound`.
[[nodiscard]] std::optional<double> time_to_fair(std::span<const FlowSeconds> flows, double bound);

}  // namespace udtx::papers
