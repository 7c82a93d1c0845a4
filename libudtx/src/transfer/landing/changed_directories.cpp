#include "transfer/landing/changed_directories.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "transfer/file/file_io.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

// With more directories than this, one sync of the file system is cheaper than one for each.
constexpr std::size_t kManyDirectories = 16;
constexpr std::size_t kMaxNoted = 1024;

}  // namespace

int sync_file_system(int fd) {
#ifdef __linux__
    if (again([fd] { return ::syncfs(fd); }) == 0) return 0;
    if (!knows_no_sync(errno)) return errno;
#else
    static_cast<void>(fd);
#endif
    ::sync();
    return 0;
}

ChangedDirectories::ChangedDirectories(const ConfinedDir& root)
    : root_(root), mount_(synced_mount_of(root.fd())), one_by_one_(!mount_), max_open_(descriptor_share()) {}

int ChangedDirectories::open(const std::string& path, int& error) {
    UniqueFd& fd = directories_[path];
    error = 0;
    if (fd) return fd.get();
    if (++open_ > max_open_) {
        for (auto& [other, other_fd] : directories_) other_fd.reset();
        open_ = 1;
        all_open_ = false;
    }
    fd = root_.open_directory(path, error);
    if (fd) note_mount(fd.get());
    return fd.get();
}

void ChangedDirectories::note(const std::string& path) {
    if (path == latest_ && !directories_.empty()) return;
    latest_ = path;
    if (directories_.size() >= kMaxNoted) {
        if (one_by_one_ && sync_error_ == 0) sync_error_ = sync_each();
        directories_.clear();
        open_ = 0;
        all_open_ = false;
    }
    int error = 0;
    if (open(path, error) >= 0) return;
    // A directory that cannot be read is synced with its file system.
    directories_.erase(path);
    all_open_ = false;
}

int ChangedDirectories::sync() {
    if (!all_open_ || directories_.size() > kManyDirectories) return sync_all();
    const int error = sync_each();
    return sync_error_ != 0 ? sync_error_ : error;
}

int ChangedDirectories::sync_all() {
    const bool none = all_open_ && directories_.empty();
    if (none) return 0;
    if (sync_error_ == 0) sync_error_ = sync_mounts();
    if (sync_error_ == 0 && one_by_one_) sync_error_ = sync_each();
    return sync_error_;
}

void ChangedDirectories::note_mount(int fd) {
    if (mount_ && mount_of(fd) == mount_) return;
    const auto mount = synced_mount_of(fd);
    if (!mount) {
        one_by_one_ = true;
    } else if (UniqueFd& kept = others_[*mount]; !kept) {
        kept.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
}

int ChangedDirectories::sync_each() {
    int first_error = 0;
    for (const auto& [path, ignored] : directories_) {
        int error = 0;
        const int fd = open(path, error);
        if (fd >= 0) error = sync_directory(fd);
        // A directory that is gone needs no sync.
        if (first_error == 0 && error != ENOENT) first_error = error;
    }
    return first_error;
}

int ChangedDirectories::sync_mounts() {
    int first_error = sync_file_system(root_.fd());
    for (const auto& [mount, fd] : others_) {
        const int error = fd ? sync_file_system(fd.get()) : EMFILE;
        if (first_error == 0) first_error = error;
    }
    return first_error;
}

}  // namespace udtx::transfer
