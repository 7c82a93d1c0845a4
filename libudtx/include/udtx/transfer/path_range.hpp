// An interval of paths in a tree.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "udtx/export.hpp"

namespace udtx::transfer {

/// Compares paths by bytes, component by component. A directory and its whole content come before anything that follows
/// the directory ("a", "a/b", "a.txt").
[[nodiscard]] UDTX_EXPORT std::strong_ordering compare_paths(std::string_view a, std::string_view b) noexcept;

/// A file is cut only at multiples of this number of bytes.
inline constexpr std::uint64_t kCutBytes = 8U << 20U;

/// A byte range of a file.
struct FileRange {
    std::uint64_t offset = 0;  ///< offset of the first byte
    std::uint64_t length = 0;  ///< length in bytes
    /// Compares all members.
    friend bool operator==(const FileRange&, const FileRange&) noexcept = default;
};

/// The interval from `from` up to, but not including, `to`. compare_paths() gives the order of paths, and the offset
/// the order within a file. Paths are relative to the destination.
struct PathRange {
    std::string from{};  ///< first path; empty: from the start of the tree
    std::string to{};    ///< end of the interval, see `to_offset`; empty: to the end of the tree
    /// The interval contains the file `from` only from this byte on; a multiple of kCutBytes.
    std::uint64_t from_offset = 0;
    std::uint64_t to_offset = 0;  ///< the interval contains the file `to` up to this byte; a multiple of kCutBytes

    /// True if the interval contains the path itself. For a file this means its first byte.
    [[nodiscard]] UDTX_EXPORT bool contains(std::string_view path) const noexcept;
    /// True if the interval contains the path, a possible path below it, or any byte of a file with this name.
    [[nodiscard]] UDTX_EXPORT bool meets(std::string_view path) const noexcept;
    /// Returns the part of a file of `size` bytes that is in the interval; nullopt: none. For an empty file inside the
    /// interval the result has length 0.
    [[nodiscard]] UDTX_EXPORT std::optional<FileRange> bytes_of(std::string_view path,
                                                                std::uint64_t size) const noexcept;
    /// Compares all members.
    friend bool operator==(const PathRange&, const PathRange&) noexcept = default;
};

}  // namespace udtx::transfer
