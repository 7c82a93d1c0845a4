#include "transfer/file/occupant.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "transfer/file/file_io.hpp"
#include "transfer/file/quirks/same_file.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

/// A name, split into its directory and its leaf.
struct Place {
    Place(const ConfinedDir& root, const std::string& path)
        : split(split_leaf(path)), opened(root.open_directory(split.directory)), parent(opened.fd) {
        found = parent && ::fstatat(parent.get(), split.leaf.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
    }
    SplitName split;
    OpenedFd opened;
    const UniqueFd& parent;
    struct stat st = {};
    bool found = false;
};

#ifdef STATX_ATTR_APPEND
bool is_fixed(const struct statx& facts) {
    return (facts.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
}

/// False: the kernel does not say.
bool facts_of(int parent, const std::string& name, struct statx& facts) {
    return ::statx(parent, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &facts) == 0;
}
#endif

constexpr int kOpen = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
constexpr int kTries = 8;  // so many others may create and remove the file meanwhile

/// For a file that an earlier umask left without rights, or that another process has created a moment ago.
void open_up_own(const ConfinedDir& root, const std::string& path) {
#ifdef O_PATH
    const SplitName split = split_leaf(path);
    const UniqueFd parent = root.open_directory(split.directory).fd;
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

OpenedFd open_or_create(const ConfinedDir& root, const std::string& path, bool& fresh) {
    OpenedFd out;
    for (int tries = 0; tries < kTries; ++tries) {
        out = root.open_at(path, kOpen);
        fresh = false;
        if (out.error == EACCES && tries == 0) {
            open_up_own(root, path);
            continue;
        }
        if (out.error != ENOENT) break;
        out = root.open_at(path, kOpen | O_CREAT | O_EXCL, 0600);
        fresh = static_cast<bool>(out.fd);
        if (out.error != EEXIST) break;
    }
    return out;
}

}  // namespace

bool is_mount_point(int parent, const std::string& name) {
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx facts = {};
    if (facts_of(parent, name, facts) && (facts.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0) {
        return (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    }
#endif
    // Before Linux 5.8, a bind mount of the same file system is not recognised.
    struct stat above = {};
    struct stat st = {};
    return ::fstat(parent, &above) == 0 && ::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_dev != above.st_dev;
}

int bars_changes(int directory) {
    if (::faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) != 0) return errno;
#ifdef STATX_ATTR_APPEND
    struct statx facts = {};
    if (facts_of(directory, ".", facts) && is_fixed(facts)) return EPERM;
#endif
    return 0;
}

int bars_removal(int parent, const std::string& name) {
    if (is_mount_point(parent, name)) return EBUSY;
#ifdef STATX_ATTR_APPEND
    struct statx facts = {};
    if (facts_of(parent, name, facts) && is_fixed(facts)) return EPERM;
#endif
    struct stat above = {};
    struct stat st = {};
    if (::geteuid() == 0 || ::fstat(parent, &above) != 0 || (above.st_mode & S_ISVTX) == 0) return 0;
    if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    return st.st_uid == ::geteuid() || above.st_uid == ::geteuid() ? 0 : EPERM;
}

bool is_barrier(int error_number) noexcept { return error_number == ENOTDIR || error_number == ELOOP; }

Occupant occupant_of(const ConfinedDir& root, const std::string& path) {
    const Place place(root, path);
    if (place.found) return S_ISDIR(place.st.st_mode) ? Occupant::directory : Occupant::other;
    return is_barrier(place.opened.error) ? Occupant::barrier : Occupant::nothing;
}

bool is_link_to(const ConfinedDir& root, const std::string& path, const std::string& target) {
    const Place place(root, path);
    std::array<char, kMaxPathBytes + 1> now{};
    if (!place.found || !S_ISLNK(place.st.st_mode)) return false;
    const ssize_t n = ::readlinkat(place.parent.get(), place.split.leaf.c_str(), now.data(), now.size());
    return n >= 0 && std::string_view(now.data(), static_cast<std::size_t>(n)) == target;
}

bool is_same_file(const ConfinedDir& root, const std::string& path, const std::string& other) {
    const Place one(root, path);
    const Place two(root, other);
    if (!one.found || !two.found || !S_ISREG(one.st.st_mode) || !same_state(one.st, two.st)) return false;
    const std::string handle = handle_of(one.parent.get(), one.split.leaf);
    if (!handle.empty()) return handle == handle_of(two.parent.get(), two.split.leaf);
    const auto size = static_cast<std::uint64_t>(one.st.st_size);
    if (size > kMaxCompared) return false;
    const UniqueFd here = root.open_at(path, O_RDONLY).fd;
    const UniqueFd there = root.open_at(other, O_RDONLY).fd;
    return here && there && same_bytes(here.get(), there.get(), size);
}

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
    OpenedFd opened = open_or_create(root, path, fresh);
    UniqueFd fd = std::move(opened.fd);
    error = opened.error;
    if (!fd) return {};
    struct stat st = {};
    mode_t lent = 0;
    error = ::fstat(fd.get(), &st) == 0 ? unlike_own(st) : errno;
    if (fresh && error == EMLINK) error = 0;  // some file systems make up that number
    if (error == 0) error = lend_owner_rights(fd.get(), st, lent);
    if (error == 0 || error == EMLINK) return fd;
    const SplitName split = split_leaf(path);
    const UniqueFd parent = fresh ? root.open_directory(split.directory).fd : UniqueFd();
    if (parent) ::unlinkat(parent.get(), split.leaf.c_str(), 0);
    return {};
}

}  // namespace udtx::transfer
