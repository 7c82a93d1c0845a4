#include "udtx/transfer/path_range.hpp"

#include <algorithm>
#include <cstddef>

namespace udtx::transfer {

std::strong_ordering compare_paths(std::string_view a, std::string_view b) noexcept {
    // A slash ranks below all other bytes. NUL would be lower, but no name contains it.
    const auto rank = [](char c) { return c == '/' ? 0U : static_cast<unsigned>(static_cast<unsigned char>(c)); };
    const std::size_t n = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < n; ++i) {
        if (a[i] != b[i]) return rank(a[i]) <=> rank(b[i]);
    }
    return a.size() <=> b.size();
}

namespace {

/// Compares two places in a tree, each a path and an offset.
bool is_before(std::string_view path, std::uint64_t offset, std::string_view other, std::uint64_t other_offset) {
    const auto order = compare_paths(path, other);
    return order < 0 || (order == 0 && offset < other_offset);
}

}  // namespace

bool PathRange::contains(std::string_view path) const noexcept {
    return (from.empty() || !is_before(path, 0, from, from_offset)) &&
           (to.empty() || is_before(path, 0, to, to_offset));
}

std::optional<FileRange> PathRange::bytes_of(std::string_view path, std::uint64_t size) const noexcept {
    const std::uint64_t begin = from_offset > 0 && path == from ? from_offset : 0;
    const std::uint64_t end = to_offset > 0 && path == to ? std::min(to_offset, size) : size;
    if (begin == 0) return contains(path) ? std::optional(FileRange{0, end}) : std::nullopt;
    if (begin >= end || (!to.empty() && !is_before(path, begin, to, to_offset))) return std::nullopt;
    return FileRange{begin, end - begin};
}

bool PathRange::meets(std::string_view path) const noexcept {
    if (!to.empty() && (!is_before(path, 0, to, to_offset) || !is_before(from, from_offset, to, to_offset))) {
        return false;
    }
    // A path that starts before `from` also ends before it, unless `from` is below the path.
    return contains(path) || path.empty() || path == from ||
           (from.size() > path.size() && from.starts_with(path) && from[path.size()] == '/');
}

}  // namespace udtx::transfer
