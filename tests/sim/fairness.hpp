// Measures how equal shares are.
#pragma once

#include <span>

namespace udtx::sim {

/// Jain's index (sum x)^2 / (n sum x^2): 1 if all shares are equal, 1/n if one flow has everything, 0 if all shares are
/// 0.
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
