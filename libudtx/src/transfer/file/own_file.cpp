#include "transfer/file/own_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "transfer/file/file_io.hpp"
#include "transfer/file/mode_bits.hpp"

namespace udtx::transfer {

namespace {

constexpr int kOpen = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr int kTries = 8;  // so many others may create and remove the file meanwhile

/// For a file that an earlier umask left without rights, or that another process has created a moment ago.
void open_up_own(const ConfinedDir& root, const std::string& path) {
#ifdef O_PATH
    int error = 0;
    const SplitName split = split_leaf(path);
    const UniqueFd parent = root.open_directory(split.directory, error);
    const UniqueFd fd(parent ? open_entry(parent.get(), split.leaf.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1);
    struct stat st = {};
    if (!fd || ::fstat(fd.get(), &st) != 0 || unlike_own(st) != 0) return;
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd.get());
    static_cast<void>(::chmod(by_descriptor.c_str(), (st.st_mode & mode_bits::kAll) | mode_bits::kOwnerReadWrite));
#else
    static_cast<void>(root);
    static_cast<void>(path);
#endif
}

UniqueFd open_or_create(const ConfinedDir& root, const std::string& path, bool& fresh, int& error) {
    for (int tries = 0; tries < kTries; ++tries) {
        UniqueFd fd = root.open_at(path, kOpen, 0, error);
        fresh = false;
        if (error == EACCES && tries == 0) {
            open_up_own(root, path);
            continue;
        }
        if (error != ENOENT) return fd;
        fd = root.open_at(path, kOpen | O_CREAT | O_EXCL, 0600, error);
        fresh = static_cast<bool>(fd);
        if (error != EEXIST) return fd;
    }
    return {};
}

}  // namespace

int unlike_own(const struct stat& st) noexcept {
    if (!S_ISREG(st.st_mode) || st.st_uid != ::geteuid()) return EPERM;
    return st.st_nlink > 1 ? EMLINK : 0;
}

int lend_owner_rights(int fd, const struct stat& st, mode_t& lent) noexcept {
    lent = ~st.st_mode & mode_bits::kOwnerReadWrite;
    if (lent == 0) return 0;
    const mode_t mode = (st.st_mode & mode_bits::kPermissions) | lent;
    return again([&] { return ::fchmod(fd, mode); }) == 0 ? 0 : errno;
}

UniqueFd open_own(const ConfinedDir& root, const std::string& path, int& error) {
    bool fresh = false;
    UniqueFd fd = open_or_create(root, path, fresh, error);
    if (!fd) return {};
    struct stat st = {};
    mode_t lent = 0;
    error = ::fstat(fd.get(), &st) == 0 ? unlike_own(st) : errno;
    if (fresh && error == EMLINK) error = 0;  // some file systems make up that number
    if (error == 0) error = lend_owner_rights(fd.get(), st, lent);
    if (error == 0 || error == EMLINK) return fd;
    const SplitName split = split_leaf(path);
    int ignored = 0;
    const UniqueFd parent = fresh ? root.open_directory(split.directory, ignored) : UniqueFd();
    if (parent) ::unlinkat(parent.get(), split.leaf.c_str(), 0);
    return {};
}

}  // namespace udtx::transfer
