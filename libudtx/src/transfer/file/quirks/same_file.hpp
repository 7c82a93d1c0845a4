// Whether two names or two looks are of one file, also on disks where an inode number proves little.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace udtx::transfer {

/// True if neither content nor attributes were changed in between, as far as times tell.
[[nodiscard]] bool same_times(const struct stat& a, const struct stat& b);
/// True if both describe one file in the same state. The inode number alone proves little where one file system shows
/// several others.
[[nodiscard]] bool same_state(const struct stat& a, const struct stat& b);
/// True if both describe one file with the same content. A name of it may have come or gone meanwhile.
[[nodiscard]] bool same_content(const struct stat& then, const struct stat& now);
/// What the file system itself calls the file, unlike an inode number that a layer above may have made up. Empty: it
/// has no such name, or one that is different for each name of the file (FUSE).
[[nodiscard]] std::string handle_of(int directory, const std::string& name);
/// Files with one inode number that are no larger are compared, if they have no handle.
inline constexpr std::uint64_t kMaxCompared = 64U << 20U;
/// True if both have these many equal bytes.
[[nodiscard]] bool same_bytes(int one, int other, std::uint64_t size);

}  // namespace udtx::transfer
