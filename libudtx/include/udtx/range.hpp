// A half-open interval of stream offsets or packet numbers.
#pragma once

#include <cstdint>

namespace udtx {

/// The numbers from `begin` up to, but not including, `end`.
struct Range {
    std::uint64_t begin = 0;  ///< first number
    std::uint64_t end = 0;    ///< one past the last number
    /// Count of the numbers.
    [[nodiscard]] constexpr std::uint64_t size() const noexcept { return end - begin; }
    friend constexpr bool operator==(Range, Range) noexcept = default;  ///< Compares both members.
};

}  // namespace udtx
