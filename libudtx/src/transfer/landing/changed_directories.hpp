// Collects the directories in which names changed and makes them durable together. Keeps a few descriptors open at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

/// Syncs the file system of `fd`, or all file systems if that is not supported. Returns 0 or an errno.
[[nodiscard]] int sync_file_system(int fd);

class ChangedDirectories {
  public:
    /// `root` must outlive this object.
    explicit ChangedDirectories(const ConfinedDir& root);

    /// Opens a directory and notes it for the next sync. Returns a descriptor that this object owns, or -1 and an errno
    /// in `error`.
    int open(const std::string& path, int& error);
    /// Notes a directory for the next sync. Any number of directories may be noted.
    void note(const std::string& path);
    /// Makes the changed names durable. Returns 0 or an errno.
    [[nodiscard]] int sync();
    /// As sync(), but syncs whole file systems: the contents of files become durable too where the file system supports
    /// that.
    [[nodiscard]] int sync_all();

  private:
    /// Notes a mount below the root. It needs its own sync.
    void note_mount(int fd);
    int sync_each();
    int sync_mounts();

    const ConfinedDir& root_;
    const std::optional<std::uint64_t> mount_;
    bool one_by_one_;                           // a sync of the file system does not make all names durable
    std::map<std::uint64_t, UniqueFd> others_;  // by mount: a directory on each other mount
    const std::size_t max_open_;
    std::string latest_;  // path that was noted last; "" is the root
    int sync_error_ = 0;  // errno of an earlier sync, also of directories that left directories_
    std::map<std::string, UniqueFd> directories_;
    std::size_t open_ = 0;
    bool all_open_ = true;
};

}  // namespace udtx::transfer
