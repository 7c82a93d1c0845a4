// Modification time of a file, as the file system stores it.
#pragma once

#include <compare>
#include <cstdint>

namespace udtx::transfer {

inline constexpr std::uint32_t kNanosecondsInSecond = 1'000'000'000;

/// Seconds and nanoseconds are separate: 64 bits of nanoseconds cover only 1677 to 2262. -1.5 s is {-2, 500'000'000}.
struct FileTime {
    std::int64_t seconds = 0;       ///< since 1970; negative before that
    std::uint32_t nanoseconds = 0;  ///< added to the seconds; below kNanosecondsInSecond
    friend auto operator<=>(const FileTime&, const FileTime&) noexcept = default;
};

/// Any write to a file changes one of them.
struct FileTimes {
    FileTime modified{};
    FileTime changed{};  ///< also the attributes
    friend bool operator==(const FileTimes&, const FileTimes&) noexcept = default;
};

}  // namespace udtx::transfer
