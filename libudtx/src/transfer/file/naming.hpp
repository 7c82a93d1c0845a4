// What a directory's file system makes of names: some fold case, some normalise accents or drop what they do not take,
// so that two names are one entry, or an entry reads otherwise than the name it was made by.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace udtx::transfer {

/// Every name is an entry of its own and reads as it was given. False: nothing is known of it.
[[nodiscard]] bool keeps_names(int directory);

/// An entry as far as it can be told apart from others.
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
    /// One file by what is in it, where inode numbers say nothing.
    [[nodiscard]] bool looks_like(const EntryFacts& other) const noexcept {
        return type == other.type && size == other.size && seconds == other.seconds && nanoseconds == other.nanoseconds;
    }
};
/// FUSE may keep a cache for each name of an entry.
enum class Look : std::uint8_t { cached, fresh };
/// 0 or an errno.
[[nodiscard]] int look_at_entry(int directory, const char* name, EntryFacts& facts, Look look = Look::fresh);

/// Equal for names that a file system might take for one: letters and digits of ASCII in lower case, without those
/// that bear an accent.
[[nodiscard]] std::uint64_t rough_name(std::string_view name);

}  // namespace udtx::transfer
