#include "udtx/output_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <deque>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "os/trusted_user.hpp"

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

Result<UniqueFd> open_output(const std::string& path, int flags, unsigned mode) {
    const auto place = OutputPlace::find(path);
    return place ? place->open(flags, mode) : place.error();
}

}  // namespace udtx
