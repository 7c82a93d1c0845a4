#include "udtx/descriptor.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <deque>
#include <iterator>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "os/system.hpp"

namespace udtx {
namespace {

/// As many links as the kernel follows.
constexpr int kMaxLinks = 40;

Error reason(int error) { return {ErrorCode::file_io, std::generic_category().message(error), error}; }

Error foreign(const std::string& path, uid_t owner, const char* what) {
    return {ErrorCode::file_io,
            path + " is a " + what + " of another user (number " + std::to_string(owner) +
                "), who decides what it leads to: give another name",
            EACCES};
}

std::deque<std::string> parts_of(std::string_view path) {
    std::deque<std::string> parts;
    while (!path.empty()) {
        const std::size_t end = path.find('/');
        parts.emplace_back(path.substr(0, end));
        if (end == std::string_view::npos) break;
        path.remove_prefix(end + 1);
        if (path.empty()) parts.emplace_back(".");  // "x/" is a directory
    }
    return parts;
}

UniqueFd open_directory(int at, const char* name, int flags = 0) {
    return UniqueFd(again([&] { return ::openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags); }));
}

/// Links of /proc lead to open files, which need not have the name that readlink() gives.
bool is_proc(int directory) {
    struct statfs system {};
    return ::fstatfs(directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

std::string by_descriptor(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// A name beside `name`, which fits where that fits.
std::string unforeseen(const std::string& name) {
    std::random_device random;
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x%08x", static_cast<unsigned>(random()),
                  static_cast<unsigned>(random()));
    return name.substr(0, NAME_MAX / 2) + ".udtx-" + digits.data();
}

/// Walks from one directory to the next, and handles each link on the way.
class Walk {
  public:
    explicit Walk(const std::string& path) : parts_(parts_of(path)) {
        place_.exists = true;
        if (restart(path)) place_.path = path.starts_with('/') ? "/" : "";
    }

    Result<OutputPlace> run() {
        if (!place_.directory) return reason(errno);
        if (parts_.empty()) return reason(ENOENT);
        while (!parts_.empty()) {
            std::string part = std::move(parts_.front());
            parts_.pop_front();
            if (part.empty() || part == ".") continue;
            if (const auto went = step(std::move(part)); !went) return went.error();
            if (!place_.name.empty()) return std::move(place_);
        }
        return reason(EISDIR);
    }

  private:
    bool restart(std::string_view path) {
        if (path.starts_with('/')) {
            place_.directory = open_directory(AT_FDCWD, "/");
            place_.path = "/";
        } else if (!place_.directory) {
            place_.directory = open_directory(AT_FDCWD, ".");
        }
        return static_cast<bool>(place_.directory);
    }

    Result<void> step(std::string part) {
        const int at = place_.directory.get();
        struct stat info {};
        const bool last = parts_.empty();
        if (::fstatat(at, part.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
            if (errno != ENOENT || !last) return reason(errno);
            place_.exists = false;
        } else if (S_ISLNK(info.st_mode)) {
            return follow(std::move(part), info.st_uid);
        }
        if (last && part != "..") return arrive(std::move(part));
        return enter(part, O_NOFOLLOW);
    }

    Result<void> follow(std::string part, uid_t owner) {
        if (!os::is_trusted_user(owner)) return foreign(place_.path + part, owner, "link");
        const int at = place_.directory.get();
        if (is_proc(at)) {
            if (!parts_.empty()) return enter(part, 0);
            place_.is_descriptor = true;
            return arrive(std::move(part));
        }
        std::array<char, PATH_MAX> target{};
        const ssize_t length = ::readlinkat(at, part.c_str(), target.data(), target.size());
        if (length <= 0) return reason(length < 0 ? errno : ENOENT);
        if (++links_ > kMaxLinks) return reason(ELOOP);
        const std::string_view text(target.data(), static_cast<std::size_t>(length));
        auto parts = parts_of(text);
        parts_.insert(parts_.begin(), std::make_move_iterator(parts.begin()), std::make_move_iterator(parts.end()));
        return restart(text) ? Result<void>() : reason(errno);
    }

    Result<void> enter(const std::string& part, int flags) {
        auto next = open_directory(place_.directory.get(), part.c_str(), flags);
        if (!next) return reason(errno);
        place_.directory = std::move(next);
        place_.path += part + '/';
        return {};
    }

    Result<void> arrive(std::string part) {
        place_.path += part;
        place_.name = std::move(part);
        return {};
    }

    std::deque<std::string> parts_;
    OutputPlace place_;
    int links_ = 0;
};

}  // namespace

Result<OutputPlace> OutputPlace::find(const std::string& path) { return Walk(path).run(); }

Result<UniqueFd> OutputPlace::open(int flags, unsigned mode) const {
    const int at = directory.get();
    struct stat info {};
    if (is_descriptor) {
        UniqueFd fd(again([&] { return ::openat(at, name.c_str(), (flags & ~O_CREAT) | O_CLOEXEC, mode); }));
        return fd ? Result<UniqueFd>(std::move(fd)) : reason(errno);
    }
    // Before the open, which would wait for the other end of a pipe.
    const bool there = ::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISFIFO(info.st_mode) && !os::is_trusted_user(info.st_uid)) return foreign(path, info.st_uid, "pipe");
    // Truncates only after the checks.
    const int safe = (flags & ~O_TRUNC) | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(again([&] { return ::openat(at, name.c_str(), safe, mode); }));
    if (!fd) return reason(errno);
    if (::fstat(fd.get(), &info) != 0) return reason(errno);
    if (!S_ISREG(info.st_mode)) return fd;
    struct stat parent {};
    if (info.st_nlink > 1 && os::is_trusted_user(info.st_uid) && ::fstat(at, &parent) == 0 &&
        (!os::is_trusted_user(parent.st_uid) || (parent.st_mode & S_IWOTH) != 0)) {
        return Error{ErrorCode::file_io,
                     path +
                         " is a file of several names in a directory of other users, who may have linked it there: "
                         "give another name",
                     EACCES};
    }
    if ((flags & O_TRUNC) != 0 && ::ftruncate(fd.get(), 0) != 0) return reason(errno);
    return fd;
}

Result<NewVersion> NewVersion::create(OutputPlace place, Name named) {
    NewVersion made(std::move(place));
    const int at = made.place_.directory.get();
    struct stat info {};
    const bool there = ::fstatat(at, made.place_.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !S_ISREG(info.st_mode)) return Error{ErrorCode::file_io, "it is not a regular file", EINVAL};
    // A killed process leaves nothing behind if the file has no name.
    if (named == Name::late)
        made.fd_.reset(again([&] { return ::openat(at, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666); }));
    if (made.fd_ && ::access(by_descriptor(made.fd_.get()).c_str(), F_OK) == 0) return made;
    made.temporary_ = unforeseen(made.place_.name);
    made.fd_.reset(again([&] {
        return ::openat(at, made.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    }));
    return made.fd_ ? Result<NewVersion>(std::move(made)) : reason(errno);
}

NewVersion::~NewVersion() { discard(); }

bool NewVersion::is_at(const std::string& name) const {
    struct stat ours {};
    struct stat named {};
    return ::fstat(fd_.get(), &ours) == 0 &&
           ::fstatat(place_.directory.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

int NewVersion::commit(std::uint64_t size) {
    const int at = place_.directory.get();
    struct stat info {};
    if (::fstat(fd_.get(), &info) != 0) return errno;
    if (static_cast<std::uint64_t>(info.st_size) != size) return EIO;  // the disk lost a part
    if (temporary_.empty()) {
        const std::string name = unforeseen(place_.name);
        if (::linkat(AT_FDCWD, by_descriptor(fd_.get()).c_str(), at, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
            return errno;
        temporary_ = name;
    }
    if (!is_at(temporary_)) return ESTALE;
    // Some disks report a failed write only here. Another descriptor still shows which file it is.
    UniqueFd twin(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    if (!twin) return errno;
    if (const int error = twin.close(); error != 0) return error;
    if (again([&] { return ::renameat(at, temporary_.c_str(), at, place_.name.c_str()); }) != 0) return errno;
    temporary_.clear();
    return fd_.close();
}

void NewVersion::discard() noexcept {
    if (!temporary_.empty() && fd_ && is_at(temporary_)) {
        ::unlinkat(place_.directory.get(), temporary_.c_str(), 0);
    }
    temporary_.clear();
}

Result<UniqueFd> open_output(const std::string& path, int flags, unsigned mode) {
    const auto place = OutputPlace::find(path);
    return place ? place->open(flags, mode) : place.error();
}

}  // namespace udtx
