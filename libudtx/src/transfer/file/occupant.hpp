// What exists under a name, and files that udtx makes for itself.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

// What exists under a name that is to be written.

enum class Occupant : std::uint8_t {
    nothing,
    directory,
    other,    ///< a file, a link, a device
    barrier,  ///< the name cannot exist: something above it is not a directory
};

/// For the errno of opening the parent directory of a name: it is not a directory, or a symbolic link.
[[nodiscard]] bool is_barrier(int error_number) noexcept;
[[nodiscard]] Occupant occupant_of(const ConfinedDir& root, const std::string& path);
/// True if something is mounted on the entry.
[[nodiscard]] bool is_mount_point(int parent, const std::string& name);
/// Why names in a directory may not be changed: 0 or an errno.
[[nodiscard]] int bars_changes(int directory);
/// Why an entry cannot be deleted although names in its directory may be changed, as far as this can be known before:
/// it is a mount point or immutable, or the directory's sticky bit protects it. 0 or an errno.
[[nodiscard]] int bars_removal(int parent, const std::string& name);
/// True if `path` is a symbolic link to `target`.
[[nodiscard]] bool is_link_to(const ConfinedDir& root, const std::string& path, const std::string& target);
/// True if both names lead to the same regular file, by its handle or its content. In doubt it returns false.
[[nodiscard]] bool is_same_file(const ConfinedDir& root, const std::string& path, const std::string& other);

// Files that udtx makes for itself: journals, the files of a job's shards, temporary files. Anybody who may write to
// the directory can put something else in their place, so each is examined before it is used.

/// 0, EPERM if it is not a regular file of this user, or EMLINK if it has several names. A file with several names is
/// the file of somebody else, too, and must keep its content.
[[nodiscard]] int unlike_own(const struct stat& st) noexcept;

/// Opens a file of ours to read and write, or creates it. Its owner may read and write it, whatever the umask is. On
/// failure `error` has an errno; with EMLINK, and only then, there is a descriptor too.
[[nodiscard]] UniqueFd open_own(const ConfinedDir& root, const std::string& path, int& error);

/// Gives the owner of an open file of ours the right to read and write it. Sets `lent` to the bits that were missing.
/// 0 or an errno.
[[nodiscard]] int lend_owner_rights(int fd, const struct stat& st, mode_t& lent) noexcept;

}  // namespace udtx::transfer
