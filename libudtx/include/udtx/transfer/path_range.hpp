// An interval of the paths of a tree.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

/// Byte order, component by component: a directory and all that is in it come before whatever comes after the
/// directory ("a", "a/b", "a.txt").
[[nodiscard]] UDTX_EXPORT std::strong_ordering compare_paths(std::string_view a, std::string_view b) noexcept;

/// A file is cut only at multiples of this, in bytes.
inline constexpr std::uint64_t kCutBytes = 8U << 20U;

/// Bytes of a file, from `offset` on.
struct FileRange {
    std::uint64_t offset = 0;  ///< of the first byte
    std::uint64_t length = 0;  ///< in bytes
    /// Member by member.
    friend bool operator==(const FileRange&, const FileRange&) noexcept = default;
};

/// From `from` up to `to`, by compare_paths(), and within a file by offset. Paths are relative to the destination.
struct PathRange {
    std::string from{};             ///< the first; empty: from the beginning
    std::string to{};               ///< the first that is no more in it; empty: to the end
    std::uint64_t from_offset = 0;  ///< in bytes: of the file `from` only what begins here; a multiple of kCutBytes
    std::uint64_t to_offset = 0;    ///< in bytes: of the file `to` what comes before is in it; a multiple of kCutBytes

    /// The path itself is in it; of a file, its beginning.
    [[nodiscard]] UDTX_EXPORT bool contains(std::string_view path) const noexcept;
    /// The path, one that would be below it, or some of the bytes of a file of that name is in it.
    [[nodiscard]] UDTX_EXPORT bool meets(std::string_view path) const noexcept;
    /// What is in it of a file of so many bytes; nullopt: nothing. Of an empty file it may be all, with length 0.
    [[nodiscard]] UDTX_EXPORT std::optional<FileRange> bytes_of(std::string_view path,
                                                                std::uint64_t size) const noexcept;
    /// Member by member.
    friend bool operator==(const PathRange&, const PathRange&) noexcept = default;
};

}  // namespace udtx::transfer
