// How equal shares are.
#pragma once

#include <span>

namespace udtx::sim {

/// Jain's index (sum x)^2 / (n sum x^2): 1 when all have the same, 1/n when one has all. 0 when nobody has anything.
[[nodiscard]] constexpr double jain(std::span<const double> shares) noexcept {
    double sum = 0.0;
    double squares = 0.0;
    for (const double x : shares) {
        sum += x;
        squares += x * x;
    }
    return squares > 0.0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 0.0;
}

}  // namespace udtx::sim
