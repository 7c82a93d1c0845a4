// Files that came in this run or stood here as they were sent. To no other one may a hard link of the transfer lead:
// what is there under a name that the sender only says may be another's, whom that sender may not even read.
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

/// Of the writer's thread and the committer's. It is asked once all files are under their names; what comes from then
/// on are links, of which nothing is another name.
class OwnFiles {
  public:
    explicit OwnFiles(EntryClaims& claims) : claims_(claims) {}

    void add(const std::string& path, const FileId& is) {
        const std::uint64_t key = key_for(path, is);
        const std::lock_guard lock(mutex_);
        if (!asked_) files_.add(key);
    }
    /// Of what has that name now. False as well where there were too many to know.
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
    /// Where a file system makes names of its own it may make inode numbers, too, and they say nothing.
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
