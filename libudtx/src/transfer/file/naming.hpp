// How the file system of a directory treats names. Some fold case, normalise accents or drop characters that they do
// not accept. Two names may then be one entry, or an entry may read differently from the name that created it.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace udtx::transfer {

/// True if each name is an entry of its own and reads as it was given. False: it is not so, or unknown.
[[nodiscard]] bool keeps_names(int directory);

/// The attributes that distinguish an entry from others.
struct EntryFacts {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    mode_t type = 0;
    std::uint64_t size = 0;
    std::int64_t seconds = 0;  ///< modification time
    std::uint32_t nanoseconds = 0;
    std::uint32_t links = 0;
    [[nodiscard]] bool is_directory() const noexcept { return S_ISDIR(type); }
    [[nodiscard]] bool same_entry(const EntryFacts& other) const noexcept {
        return device == other.device && inode == other.inode;
    }
    /// True if both may be one file, judged by type, size and time. It is for file systems whose inode numbers prove
    /// nothing.
    [[nodiscard]] bool looks_like(const EntryFacts& other) const noexcept {
        return type == other.type && size == other.size && seconds == other.seconds && nanoseconds == other.nanoseconds;
    }
};
/// FUSE may cache the attributes for each name of an entry: `fresh` asks the file system again.
enum class Look : std::uint8_t { cached, fresh };
/// 0 or an errno.
[[nodiscard]] int look_at_entry(int directory, const char* name, EntryFacts& facts, Look look = Look::fresh);

/// Equal for names that a file system might treat as one. It hashes the ASCII letters and digits, in lower case,
/// without letters that carry an accent.
[[nodiscard]] std::uint64_t rough_name(std::string_view name);

}  // namespace udtx::transfer
