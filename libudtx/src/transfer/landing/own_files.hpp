// The files that this run wrote or verified. A hard link of the transfer may lead only to one of them. Any other file
// may belong to another user, and the sender may have no right to read it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "transfer/file/confined_dir.hpp"
#include "transfer/landing/commit_batch.hpp"
#include "transfer/landing/entry_claims.hpp"
#include "transfer/landing/name_set.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

/// The writer's and the committer's threads use it. Call has() only once all files have their final names: from the
/// first call on, add() has no effect. Only links follow after that, and no hard link leads to one of them.
class OwnFiles {
  public:
    explicit OwnFiles(EntryClaims& claims) : claims_(claims) {}

    void add(const std::string& path, const FileId& is) {
        const std::uint64_t key = key_for(path, is);
        const std::lock_guard lock(mutex_);
        if (!asked_) files_.add(key);
    }
    /// True if the file that has this name now is one of them. False also if there were too many files to store.
    [[nodiscard]] bool has(const std::string& path, const FileId& is) {
        const std::uint64_t key = key_for(path, is);
        const std::lock_guard lock(mutex_);
        asked_ = true;
        return files_.has(key);
    }
    [[nodiscard]] std::uint64_t held() const {
        const std::lock_guard lock(mutex_);
        return files_.held();
    }

  private:
    /// A file system that may change names may also make up inode numbers, so its keys use names only.
    std::uint64_t key_for(const std::string& path, const FileId& is) {
        const std::uint64_t name = path_key(path);
        return claims_.may_fold(split_leaf(path).directory) ? name : key_of({name, is.device, is.inode});
    }

    EntryClaims& claims_;
    mutable std::mutex mutex_;
    NameSet files_;
    bool asked_ = false;
};

}  // namespace udtx::transfer
