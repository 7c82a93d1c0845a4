#include "transfer/landing/disk_quota.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "transfer/file/file_io.hpp"

namespace udtx::transfer {

namespace {

std::uint64_t bytes_of(const struct stat& st) { return static_cast<std::uint64_t>(st.st_blocks) * 512; }

}  // namespace

struct DiskQuota::Walk {
    std::vector<std::string> directories{};  // still to be looked into
    std::set<FileId> linked{};               // files with several names, each counted once
    std::uint64_t found = 0;
    bool whole = false;
};

Result<bool> DiskQuota::measure(const ConfinedDir& top, std::optional<std::uint64_t>& asked) {
    auto own = top.subdirectory("");
    if (!own) return own.error();
    {
        const std::lock_guard lock(mutex_);
        if (!asked) asked = walks_;
        if (walking_) return false;
        if (walks_ > *asked) return true;  // begun after the question
        walking_ = true;
        top_ = std::move(own).value();
    }
    if (auto walked = walk(); !walked) return walked.error();
    return true;
}

Result<void> DiskQuota::walk() {
    {
        const std::lock_guard lock(mutex_);
        ++walks_;
    }
    Walk walk;
    struct End {
        ~End() { quota.end_walk(walk); }
        DiskQuota& quota;
        const Walk& walk;
    };
    const End end{*this, walk};
    walk.directories.emplace_back();
    while (!walk.directories.empty() && walk.found <= limit_) {
        const std::string directory = std::move(walk.directories.back());
        walk.directories.pop_back();
        if (auto looked = look_into(walk, directory); !looked) return looked;
    }
    walk.whole = walk.found <= limit_;
    return {};
}

void DiskQuota::end_walk(const Walk& walk) {
    const std::lock_guard lock(mutex_);
    walking_ = false;
    whole_ = walk.whole;
    on_disk_ = walk.found;
    for (auto at = files_.begin(); at != files_.end();) {
        if (!at->second.over) {
            ++at;
            continue;
        }
        on_disk_ += at->second.bytes;
        under_way_ -= at->second.bytes;
        at = files_.erase(at);
    }
    walked_.notify_all();
}

Result<void> DiskQuota::look_into(Walk& walk, const std::string& directory) {
    int error = 0;
    const UniqueFd fd = top_->open_at(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, error);
    if (!fd) {
        // Others have removed or replaced it meanwhile.
        const bool gone = error == ENOENT || error == ENOTDIR || error == ELOOP;
        return gone ? Result<void>() : io_error("quota: cannot measure", directory, error);
    }
    for (const std::string& name : names_in(fd.get(), error)) {
        struct stat st = {};
        if (::fstatat(fd.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        count(walk, st);
        if (!S_ISDIR(st.st_mode)) continue;
        // What others keep from us, such as lost+found, did not come by us.
        if (::faccessat(fd.get(), name.c_str(), R_OK | X_OK, AT_EACCESS) != 0 && st.st_uid != ::geteuid()) continue;
        walk.directories.push_back(directory.empty() ? name : directory + '/' + name);
    }
    return error == 0 ? Result<void>() : io_error("quota: cannot measure", directory, error);
}

void DiskQuota::count(Walk& walk, const struct stat& st) {
    const FileId id{st.st_dev, st.st_ino};
    if (!S_ISDIR(st.st_mode) && st.st_nlink > 1 && !walk.linked.insert(id).second) return;
    const std::lock_guard lock(mutex_);
    if (files_.count(id) == 0) walk.found += bytes_of(st);
}

bool DiskQuota::take(std::uint64_t bytes) {
    if (!whole_ || on_disk_ > limit_ || under_way_ > limit_ - on_disk_ || bytes > limit_ - on_disk_ - under_way_)
        return false;
    under_way_ += bytes;
    return true;
}

DiskQuota::Charge::Charge(std::shared_ptr<DiskQuota> quota, const struct stat& file) : quota_(std::move(quota)) {
    const std::lock_guard lock(quota_->mutex_);
    // What an earlier run left of it counts twice until the next look on the disk: whether it does is not known here.
    entry_ = quota_->files_.insert({{file.st_dev, file.st_ino}, {bytes_of(file), false}});
    quota_->under_way_ += bytes_of(file);
}

DiskQuota::Charge::~Charge() {
    const std::lock_guard lock(quota_->mutex_);
    entry_->second.over = true;
    if (quota_->walking_) return;
    quota_->on_disk_ += entry_->second.bytes;
    quota_->under_way_ -= entry_->second.bytes;
    quota_->files_.erase(entry_);
}

bool DiskQuota::Charge::grow(std::uint64_t bytes) {
    std::unique_lock lock(quota_->mutex_);
    UnderWay& own = entry_->second;
    if (bytes <= own.bytes) return true;
    // Where there is no room something may have been deleted or replaced since the last look: one that begins now
    // knows.
    const std::uint64_t asked = quota_->walks_;
    while (!quota_->take(bytes - own.bytes)) {
        if (!quota_->top_) return false;
        if (quota_->walking_) {
            quota_->walked_.wait(lock, [this] { return !quota_->walking_; });
            continue;
        }
        if (quota_->walks_ > asked) return false;
        quota_->walking_ = true;
        lock.unlock();
        const auto walked = quota_->walk();
        lock.lock();
        if (!walked) return false;
    }
    own.bytes = bytes;
    return true;
}

void DiskQuota::Charge::settle(std::uint64_t bytes) {
    const std::lock_guard lock(quota_->mutex_);
    quota_->under_way_ = quota_->under_way_ - entry_->second.bytes + bytes;
    entry_->second.bytes = bytes;
}

}  // namespace udtx::transfer
