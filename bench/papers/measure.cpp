#include "measure.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace udtx::papers {
namespace {

double sum(std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); }

double at(const FlowSeconds& flow, std::size_t second) { return second < flow.mbps.size() ? flow.mbps[second] : 0.0; }

std::size_t last_second(std::span<const FlowSeconds> flows) {
    std::size_t last = 0;
    for (const FlowSeconds& flow : flows) last = std::max(last, flow.mbps.size());
    return last;
}

}  // namespace

double min_over_max(std::span<const double> shares) {
    if (shares.empty()) return 0.0;
    const auto [low, high] = std::minmax_element(shares.begin(), shares.end());
    return *high > 0.0 ? *low / *high : 0.0;
}

double deviation(std::span<const double> shares) {
    const double total = sum(shares);
    if (total <= 0.0) return 0.0;
    const double fair = total / static_cast<double>(shares.size());
    double off = 0.0;
    for (const double x : shares) off += std::abs(x - fair);
    return off / total;
}

std::vector<double> shares_in(std::span<const FlowSeconds> flows, std::size_t second) {
    std::vector<double> shares;
    for (const FlowSeconds& flow : flows) {
        if (flow.joined_s <= static_cast<double>(second)) shares.push_back(at(flow, second));
    }
    return shares;
}

Fairness mean_fairness(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to) {
    Fairness mean;
    for (std::size_t second = from; second < std::min(to, last_second(flows)); ++second) {
        const std::vector<double> shares = shares_in(flows, second);
        if (shares.size() < 2) continue;
        mean.jain += jain(shares);
        mean.min_over_max += min_over_max(shares);
        mean.deviation += deviation(shares);
        ++mean.seconds;
    }
    if (mean.seconds == 0) return mean;
    const auto n = static_cast<double>(mean.seconds);
    mean.jain /= n;
    mean.min_over_max /= n;
    mean.deviation /= n;
    return mean;
}

Fairness fairness_of_totals(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to) {
    const std::size_t end = std::min(to, last_second(flows));
    std::vector<double> totals;
    for (const FlowSeconds& flow : flows) {
        double total = 0.0;
        for (std::size_t second = from; second < end; ++second) total += at(flow, second);
        totals.push_back(total);
    }
    return {jain(totals), min_over_max(totals), deviation(totals), end > from ? end - from : 0};
}

double mean_throughput(std::span<const FlowSeconds> flows, std::size_t from, std::size_t to) {
    const std::size_t end = std::min(to, last_second(flows));
    if (end <= from) return 0.0;
    double total = 0.0;
    for (const FlowSeconds& flow : flows) {
        for (std::size_t second = from; second < end; ++second) total += at(flow, second);
    }
    return total / static_cast<double>(end - from);
}

std::optional<double> time_to_fair(std::span<const FlowSeconds> flows, double bound) {
    double joined = 0.0;
    for (const FlowSeconds& flow : flows) joined = std::max(joined, flow.joined_s);
    for (auto second = static_cast<std::size_t>(std::ceil(joined)); second < last_second(flows); ++second) {
        const std::vector<double> shares = shares_in(flows, second);
        if (shares.size() >= 2 && jain(shares) >= bound) return static_cast<double>(second + 1) - joined;
    }
    return std::nullopt;
}

}  // namespace udtx::papers
