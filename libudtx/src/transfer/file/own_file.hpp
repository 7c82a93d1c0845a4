// Files that udtx makes for itself: journals, the files of a job's shards, temporary files. Anybody who may write to
// the directory can put something else in their place, so each is examined before it is used.
#pragma once

#include <sys/stat.h>

#include <string>

#include "transfer/file/confined_dir.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

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
