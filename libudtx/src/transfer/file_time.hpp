// When a file was changed, as the file system has it.
#pragma once

#include <compare>
#include <cstdint>

namespace udtx::transfer {

inline constexpr std::uint32_t kNanosecondsInSecond = 1'000'000'000;

/// Apart, since 64 bits of nanoseconds end in 2262 and begin in 1677. -1.5 s is {-2, 500'000'000}.
struct FileTime {
    std::int64_t seconds = 0;       ///< since 1970, before it negative
    std::uint32_t nanoseconds = 0;  ///< on top of them, below kNanosecondsInSecond
    friend auto operator<=>(const FileTime&, const FileTime&) noexcept = default;
};

}  // namespace udtx::transfer
