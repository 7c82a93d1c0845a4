// A half-open interval of stream offsets or packet numbers.
#pragma once

#include <cstdint>

namespace udtx {

/// From `begin` to before `end`.
struct Range {
    std::uint64_t begin = 0;  ///< the first
    std::uint64_t end = 0;    ///< one past the last
    /// Their number.
    [[nodiscard]] constexpr std::uint64_t size() const noexcept { return end - begin; }
    friend constexpr bool operator==(Range, Range) noexcept = default;  ///< By both members.
};

}  // namespace udtx
