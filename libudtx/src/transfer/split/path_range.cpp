#include "udtx/transfer/path_range.hpp"

#include <algorithm>
#include <cstddef>

namespace udtx::transfer {

std::strong_ordering compare_paths(std::string_view a, std::string_view b) noexcept {
    // A slash counts as the lowest byte; NUL, which would be lower, is in no name.
    const auto rank = [](char c) { return c == '/' ? 0U : static_cast<unsigned>(static_cast<unsigned char>(c)); };
    const std::size_t n = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < n; ++i) {
        if (a[i] != b[i]) return rank(a[i]) <=> rank(b[i]);
    }
    return a.size() <=> b.size();
}

bool PathRange::contains(std::string_view path) const noexcept {
    return (from.empty() || compare_paths(path, from) >= 0) && (to.empty() || compare_paths(path, to) < 0);
}

bool PathRange::meets(std::string_view path) const noexcept {
    if (!to.empty() && (compare_paths(path, to) >= 0 || compare_paths(from, to) >= 0)) return false;
    // All that begin before `from` end before it, unless it is below the path.
    return contains(path) || path.empty() ||
           (from.size() > path.size() && from.starts_with(path) && from[path.size()] == '/');
}

}  // namespace udtx::transfer
