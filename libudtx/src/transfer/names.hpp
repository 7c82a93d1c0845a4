// Names that cross the wire: what is allowed, and how they are taken apart and shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "udtx/result.hpp"
#include "udtx/transfer/names.hpp"

namespace udtx::transfer {

inline constexpr std::size_t kMaxComponentBytes = 255;  // NAME_MAX
inline constexpr std::size_t kMaxPathBytes = 4095;      // PATH_MAX without the NUL
inline constexpr std::size_t kMaxDepth = 128;

/// refused: empty, `.`, `..`, with a slash or NUL, or longer than kMaxComponentBytes.
[[nodiscard]] Result<void> check_component(std::string_view component);
/// refused: a bad component, no component, more than kMaxDepth, or more than kMaxPathBytes when joined.
[[nodiscard]] Result<void> check_path(const std::vector<std::string>& components);
/// At slashes; empty parts vanish.
[[nodiscard]] std::vector<std::string> split_path(std::string_view path);
[[nodiscard]] std::string join_path(const std::vector<std::string>& components);
/// Name of a temporary file, ".udtx-<16 hex digits>.part": short, ASCII and lower case, so that every disk takes it
/// whatever it does to longer or other names.
[[nodiscard]] std::string temp_name(std::uint64_t unique);
/// Of a resume journal: ".udtx-<16 hex digits>.journal".
[[nodiscard]] std::string journal_name(std::uint64_t transfer);
/// Of what the shards of a job share: ".udtx-<16 hex digits>.job".
[[nodiscard]] std::string job_file_name(std::uint64_t job);
/// Of what they tell one another while they run: ".udtx-<16 hex digits>.shards".
[[nodiscard]] std::string shard_slots_name(std::uint64_t job);
/// The letters of ASCII.
[[nodiscard]] std::string in_lower_case(std::string_view text);
/// Of an entry of a directory; an empty one is the top.
[[nodiscard]] std::string path_in(const std::string& directory, const std::string& leaf);
/// A name in a tab-separated line: tab, newline, return and backslash as \t, \n, \r, \\.
[[nodiscard]] std::string escape_field(std::string_view text);
/// The other direction. nullopt: a backslash before something else.
[[nodiscard]] std::optional<std::string> unescape_field(std::string_view text);
/// A path in eight bytes of its XXH3-128: in sets of very many names, and in the journal's Done records.
[[nodiscard]] std::uint64_t path_key(std::string_view path) noexcept;
/// Several numbers in eight bytes, likewise.
[[nodiscard]] std::uint64_t key_of(std::initializer_list<std::uint64_t> numbers) noexcept;

}  // namespace udtx::transfer
