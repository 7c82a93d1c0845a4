// The directories in which names were changed, to be made durable together; descriptors of a few of them at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

/// 0 or an errno.
[[nodiscard]] int sync_file_system(int fd);

class ChangedDirectories {
  public:
    /// `root` outlives it.
    explicit ChangedDirectories(const ConfinedDir& root);

    /// The descriptor, or -1 and the reason in `error`.
    int open(const std::string& path, int& error);
    /// For the sync only; of any number.
    void note(const std::string& path);
    /// Makes the names durable; 0 or an errno.
    [[nodiscard]] int sync();
    /// The contents of files in them, too, where a sync of the file system does that.
    [[nodiscard]] int sync_all();

  private:
    /// What is mounted below the root needs a sync of its own.
    void note_mount(int fd);
    int sync_each();
    int sync_mounts();

    const ConfinedDir& root_;
    const std::optional<std::uint64_t> mount_;
    bool one_by_one_;                           // a sync of the file system does not make all of the names durable
    std::map<std::uint64_t, UniqueFd> others_;  // by mount, a directory of each
    const std::size_t max_open_;
    std::string latest_;  // that was noted; "" is the root
    int sync_error_ = 0;  // of those that are no longer in directories_
    std::map<std::string, UniqueFd> directories_;
    std::size_t open_ = 0;
    bool all_open_ = true;
};

}  // namespace udtx::transfer
