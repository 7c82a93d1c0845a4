// Names that are sent on the wire: which ones are allowed, and how they are split and displayed.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

inline constexpr std::size_t kMaxComponentBytes = 255;  // NAME_MAX
inline constexpr std::size_t kMaxPathBytes = 4095;      // PATH_MAX without the NUL
inline constexpr std::size_t kMaxDepth = 128;

/// refused: the component is empty, `.` or `..`, contains a slash or NUL, or is longer than kMaxComponentBytes.
[[nodiscard]] Result<void> check_component(std::string_view component);
/// refused: a bad component, no component, more than kMaxDepth components, or more than kMaxPathBytes when joined.
[[nodiscard]] Result<void> check_path(const std::vector<std::string>& components);
/// For a name from the other end. protocol: no file can have that name, so the other end lies. Else as check_path().
[[nodiscard]] Result<void> check_sent_path(const std::vector<std::string>& components);
/// True if check_path() accepts the path, and it has no empty part: neither "/a" nor "a//b" nor "a/".
[[nodiscard]] bool is_plain_path(std::string_view path);
/// Splits a path at its slashes and drops empty parts.
[[nodiscard]] std::vector<std::string> split_path(std::string_view path);
[[nodiscard]] std::string join_path(const std::vector<std::string>& components);
/// Name of a temporary file: ".udtx-<16 hex digits>.part". It is short, ASCII and lower case, so that every file system
/// accepts it, even one that changes longer or other names.
[[nodiscard]] std::string temp_name(std::uint64_t unique);
/// Name of a resume journal: ".udtx-<16 hex digits>.journal".
[[nodiscard]] std::string journal_name(std::uint64_t transfer);
/// Name of the file that the shards of a job share: ".udtx-<16 hex digits>.job".
[[nodiscard]] std::string job_file_name(std::uint64_t job);
/// Name of the file by which running shards exchange their state: ".udtx-<16 hex digits>.shards".
[[nodiscard]] std::string shard_slots_name(std::uint64_t job);
/// Changes ASCII letters only.
[[nodiscard]] std::string in_lower_case(std::string_view text);
/// Path of an entry of a directory; an empty `directory` is the top.
[[nodiscard]] std::string path_in(const std::string& directory, const std::string& leaf);
/// Escapes a name for a tab-separated line: tab, newline, return and backslash become \t, \n, \r, \\.
[[nodiscard]] std::string escape_field(std::string_view text);
/// Reverses escape_field(). nullopt: a backslash before any other character.
[[nodiscard]] std::optional<std::string> unescape_field(std::string_view text);
/// Hash of a path: eight bytes of its XXH3-128. Used in sets of very many names and in the journal's Done records.
[[nodiscard]] std::uint64_t path_key(std::string_view path) noexcept;
/// Hash of several numbers: eight bytes of their XXH3-128.
[[nodiscard]] std::uint64_t key_of(std::initializer_list<std::uint64_t> numbers) noexcept;

// Modification time of a file, as the file system stores it.

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
