// An interval of the paths of a tree.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

/// Byte order, component by component: a directory and all that is in it come before whatever comes after the
/// directory ("a", "a/b", "a.txt").
[[nodiscard]] UDTX_EXPORT std::strong_ordering compare_paths(std::string_view a, std::string_view b) noexcept;

/// From `from` up to `to`, by compare_paths(). Paths are relative to the destination.
struct PathRange {
    std::string from{};  ///< the first; empty: from the beginning
    std::string to{};    ///< the first that is no more in it; empty: to the end

    /// The path itself is in it.
    [[nodiscard]] UDTX_EXPORT bool contains(std::string_view path) const noexcept;
    /// The path, or one that would be below it, is in it.
    [[nodiscard]] UDTX_EXPORT bool meets(std::string_view path) const noexcept;
};

}  // namespace udtx::transfer
