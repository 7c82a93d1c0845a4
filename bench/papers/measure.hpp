// What the papers call fairness, from the bytes that each flow delivered in each second. Needs nothing of ns-3.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sim/fairness.hpp"

namespace udtx::papers {

using sim::jain;
/// Smallest over largest; 0 when nobody has anything.
[[nodiscard]] double min_over_max(std::span<const double> shares);
/// Mean of |x - fair| / fair with fair = mean of x; 0 when nobody has anything.
[[nodiscard]] double deviation(std::span<const double> shares);

/// Throughput of one flow, Mbit/s in each second of the run, and when it joined.
struct FlowSeconds {
    double joined_s = 0.0;
    std::vector<double> mbps;
};

struct Fairness {
    double jain = 0.0;
    double min_over_max = 0.0;
    double deviation = 0.0;
    std::size_t seconds = 0;  ///< over which the means were taken
};

/// The shares in one second of the flows that had joined when it began.
[[nodiscard]] std::vector<double> shares_in(std::span<const FlowSeconds> flows, std::size_t second);
/// Means of the per-second values over [from, to), seconds with two active flows or more.
[[nodiscard]] Fairness mean_fairness(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to);
/// Of the bytes that each flow moved in [from, to), all flows.
[[nodiscard]] Fairness fairness_of_totals(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to);
/// Mbit/s of all flows together, mean over [from, to).
[[nodiscard]] double mean_throughput(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to);
/// Seconds from the last join to the end of the first second whose index is `bound` or better; none if there is none.
[[nodiscard]] std::optional<double> time_to_fair(std::span<const FlowSeconds> flows, double bound);

}  // namespace udtx::papers
