// Stand-ins for calls that use files and directories.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "stand_in.hpp"

using udtx::faults::Kind;

namespace {

constexpr std::uint64_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

int opening(std::uint64_t flags) { return udtx::faults::error_of((flags & kWrites) != 0 ? Kind::create : Kind::open); }

// The standard descriptors count as pipes, whatever they are. Event and timer descriptors have no file type. The system
// never interrupts their calls that do not wait.
Kind kind_of(int fd, Kind file, Kind pipe) {
    if (fd <= STDERR_FILENO) return pipe;
    struct stat st {};
    if (::syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) != 0) return pipe;
    return S_ISREG(st.st_mode) ? file : (st.st_mode & S_IFMT) == 0 ? Kind::event : pipe;
}

/// True for a temporary file of a transfer that still has a name: its data is needed.
bool is_part(int fd) {
    char link[32];
    char path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const long n = ::syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path);
    return n > 0 && std::string_view(path, static_cast<std::size_t>(n)).ends_with(".part");
}

/// Fails `call(n)`, or calls it with fewer bytes.
template <typename Call>
ssize_t moving(Kind kind, std::size_t n, const Call& call) {
    const int before = errno;
    const int error = udtx::faults::next(kind);
    if (error > 0) {
        errno = error;
        return -1;
    }
    errno = before;
    return call(error == udtx::faults::kShort && n > 1 ? n / 2 : n);
}

mode_t mode_of(std::uint64_t flags, va_list rest) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(rest, int)) : mode_t{0};
}

}  // namespace

#define UDTX_OPEN(name)                                                                        \
    UDTX_STAND_IN(int, name, (const char* path, int flags, ...)) {                             \
        UDTX_REAL(name, int (*)(const char*, int, ...));                                       \
        va_list rest;                                                                          \
        va_start(rest, flags);                                                                 \
        const mode_t mode = mode_of(static_cast<unsigned>(flags), rest);                       \
        va_end(rest);                                                                          \
        if (const int error = opening(static_cast<unsigned>(flags))) return errno = error, -1; \
        return real(path, flags, mode);                                                        \
    }
#define UDTX_OPENAT(name)                                                                      \
    UDTX_STAND_IN(int, name, (int at, const char* path, int flags, ...)) {                     \
        UDTX_REAL(name, int (*)(int, const char*, int, ...));                                  \
        va_list rest;                                                                          \
        va_start(rest, flags);                                                                 \
        const mode_t mode = mode_of(static_cast<unsigned>(flags), rest);                       \
        va_end(rest);                                                                          \
        if (const int error = opening(static_cast<unsigned>(flags))) return errno = error, -1; \
        return real(at, path, flags, mode);                                                    \
    }
UDTX_OPEN(open)
UDTX_OPEN(open64)
UDTX_OPENAT(openat)
UDTX_OPENAT(openat64)

UDTX_STAND_IN(int, __open_2, (const char* path, int flags)) { return udtx_open(path, flags); }
UDTX_STAND_IN(int, __openat_2, (int at, const char* path, int flags)) { return udtx_openat(at, path, flags); }

// The only system call that the program makes by number and that counts here.
UDTX_STAND_IN(long, syscall, (long number, ...)) {
    UDTX_REAL(syscall, long (*)(long, ...));
    va_list rest;
    va_start(rest, number);
    long arguments[6];
    for (long& argument : arguments) argument = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_openat2) {
        int error = udtx::faults::error_of(Kind::openat2);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): syscall() takes pointers as numbers
        if (error == 0) error = opening(reinterpret_cast<const open_how*>(arguments[2])->flags);
        if (error != 0) return errno = error, -1;
    }
    return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

#define UDTX_FOPEN(name)                                                                                 \
    UDTX_STAND_IN(FILE*, name, (const char* path, const char* how)) {                                    \
        UDTX_REAL(name, FILE* (*)(const char*, const char*));                                            \
        if (const int error = opening(*how == 'r' ? O_RDONLY : O_WRONLY)) return errno = error, nullptr; \
        return real(path, how);                                                                          \
    }
UDTX_FOPEN(fopen)
UDTX_FOPEN(fopen64)

UDTX_FAILS(Kind::opendir, DIR*, nullptr, opendir, (const char* path), (path))
UDTX_FAILS(Kind::opendir, DIR*, nullptr, fdopendir, (int fd), (fd))
UDTX_FAILS(Kind::readdir, dirent*, nullptr, readdir, (DIR * directory), (directory))

// NOLINTBEGIN(bugprone-macro-parentheses): lists of parameters and of arguments, parentheses and all
#define UDTX_READ(name, with, arguments, n)                                                                           \
    UDTX_STAND_IN(ssize_t, name, with) {                                                                              \
        UDTX_REAL(name, ssize_t(*) with);                                                                             \
        return moving(kind_of(fd, Kind::read, Kind::pipe_read), n, [&](std::size_t part) { return real arguments; }); \
    }
#define UDTX_WRITE(name, with, arguments, n)                             \
    UDTX_STAND_IN(ssize_t, name, with) {                                 \
        UDTX_REAL(name, ssize_t(*) with);                                \
        return moving(kind_of(fd, Kind::write, Kind::pipe_write), n,     \
                      [&](std::size_t part) { return real arguments; }); \
    }
// NOLINTEND(bugprone-macro-parentheses)
UDTX_READ(read, (int fd, void* out, std::size_t n), (fd, out, part), n)
UDTX_READ(pread, (int fd, void* out, std::size_t n, off_t at), (fd, out, part, at), n)
UDTX_READ(pread64, (int fd, void* out, std::size_t n, off_t at), (fd, out, part, at), n)
UDTX_READ(__read_chk, (int fd, void* out, std::size_t n, std::size_t room), (fd, out, part, room), n)
UDTX_READ(__pread_chk, (int fd, void* out, std::size_t n, off_t at, std::size_t room), (fd, out, part, at, room), n)
UDTX_READ(__pread64_chk, (int fd, void* out, std::size_t n, off_t at, std::size_t room), (fd, out, part, at, room), n)
UDTX_WRITE(write, (int fd, const void* from, std::size_t n), (fd, from, part), n)
UDTX_WRITE(pwrite, (int fd, const void* from, std::size_t n, off_t at), (fd, from, part, at), n)
UDTX_WRITE(pwrite64, (int fd, const void* from, std::size_t n, off_t at), (fd, from, part, at), n)

UDTX_STAND_IN(ssize_t, copy_file_range,
              (int from, off_t* from_at, int to, off_t* to_at, std::size_t n, unsigned flags)) {
    UDTX_REAL(copy_file_range, ssize_t(*)(int, off_t*, int, off_t*, std::size_t, unsigned));
    return moving(Kind::copy, n, [&](std::size_t part) { return real(from, from_at, to, to_at, part, flags); });
}

UDTX_FAILS(Kind::sync, int, -1, fsync, (int fd), (fd))
UDTX_FAILS(Kind::sync, int, -1, fdatasync, (int fd), (fd))
UDTX_FAILS(Kind::syncfs, int, -1, syncfs, (int fd), (fd))
UDTX_STAND_IN(int, close, (int fd)) {
    UDTX_REAL(close, int (*)(int));
    const long flags = ::syscall(SYS_fcntl, fd, F_GETFL, 0L);
    const bool written = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && (flags & O_PATH) == 0;
    const bool file = written && kind_of(fd, Kind::write, Kind::pipe_write) == Kind::write;
    const Kind kind = file && is_part(fd) ? Kind::close_part : Kind::close;
    const int error = file ? udtx::faults::error_of(kind) : 0;
    const int result = real(fd);
    if (error != 0) return errno = error, -1;
    return result;
}
UDTX_FAILS(Kind::rename, int, -1, rename, (const char* from, const char* to), (from, to))
UDTX_FAILS(Kind::rename, int, -1, renameat, (int from_at, const char* from, int to_at, const char* to),
           (from_at, from, to_at, to))
UDTX_FAILS(Kind::renameat2, int, -1, renameat2,
           (int from_at, const char* from, int to_at, const char* to, unsigned flags),
           (from_at, from, to_at, to, flags))
UDTX_FAILS(Kind::link, int, -1, linkat, (int from_at, const char* from, int to_at, const char* to, int flags),
           (from_at, from, to_at, to, flags))
UDTX_FAILS(Kind::symlink, int, -1, symlinkat, (const char* target, int at, const char* path), (target, at, path))
UDTX_FAILS(Kind::unlink, int, -1, unlink, (const char* path), (path))
UDTX_FAILS(Kind::unlink, int, -1, unlinkat, (int at, const char* path, int flags), (at, path, flags))
UDTX_FAILS(Kind::mkdir, int, -1, mkdir, (const char* path, mode_t mode), (path, mode))
UDTX_FAILS(Kind::mkdir, int, -1, mkdirat, (int at, const char* path, mode_t mode), (at, path, mode))
UDTX_FAILS(Kind::truncate, int, -1, ftruncate, (int fd, off_t size), (fd, size))
UDTX_FAILS(Kind::truncate, int, -1, ftruncate64, (int fd, off_t size), (fd, size))
UDTX_FAILS(Kind::allocate, int, -1, fallocate, (int fd, int how, off_t at, off_t n), (fd, how, at, n))
UDTX_FAILS(Kind::allocate, int, -1, fallocate64, (int fd, int how, off_t at, off_t n), (fd, how, at, n))
UDTX_FAILS(Kind::seek, off_t, -1, lseek, (int fd, off_t at, int from), (fd, at, from))
UDTX_FAILS(Kind::seek, off_t, -1, lseek64, (int fd, off_t at, int from), (fd, at, from))
UDTX_FAILS(Kind::times, int, -1, futimens, (int fd, const timespec* times), (fd, times))
UDTX_FAILS(Kind::times, int, -1, utimensat, (int at, const char* path, const timespec* times, int flags),
           (at, path, times, flags))
UDTX_FAILS(Kind::mode, int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
UDTX_FAILS(Kind::mode, int, -1, chmod, (const char* path, mode_t mode), (path, mode))
UDTX_FAILS(Kind::owner, int, -1, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
UDTX_FAILS(Kind::attributes, int, -1, fsetxattr,
           (int fd, const char* name, const void* value, std::size_t n, int flags), (fd, name, value, n, flags))
UDTX_FAILS(Kind::attributes, ssize_t, -1, fgetxattr, (int fd, const char* name, void* value, std::size_t n),
           (fd, name, value, n))
UDTX_FAILS(Kind::attributes, ssize_t, -1, flistxattr, (int fd, char* names, std::size_t n), (fd, names, n))
UDTX_FAILS(Kind::attributes, int, -1, fremovexattr, (int fd, const char* name), (fd, name))
UDTX_FAILS(Kind::stat, int, -1, stat, (const char* path, struct stat* out), (path, out))
UDTX_FAILS(Kind::stat, int, -1, lstat, (const char* path, struct stat* out), (path, out))
UDTX_FAILS(Kind::stat, int, -1, fstat, (int fd, struct stat* out), (fd, out))
UDTX_FAILS(Kind::stat, int, -1, fstatat, (int at, const char* path, struct stat* out, int flags),
           (at, path, out, flags))
UDTX_FAILS(Kind::stat, int, -1, statx, (int at, const char* path, int flags, unsigned mask, struct statx* out),
           (at, path, flags, mask, out))
UDTX_FAILS(Kind::stat, int, -1, fstatfs, (int fd, struct statfs* out), (fd, out))
UDTX_FAILS(Kind::stat, int, -1, fstatvfs, (int fd, struct statvfs* out), (fd, out))
UDTX_FAILS(Kind::readlink, ssize_t, -1, readlinkat, (int at, const char* path, char* out, std::size_t n),
           (at, path, out, n))
UDTX_FAILS(Kind::readlink, ssize_t, -1, __readlinkat_chk,
           (int at, const char* path, char* out, std::size_t n, std::size_t room), (at, path, out, n, room))
UDTX_FAILS(Kind::lock, int, -1, flock, (int fd, int how), (fd, how))

UDTX_STAND_IN(int, fcntl, (int fd, int command, ...)) {
    UDTX_REAL(fcntl, int (*)(int, int, ...));
    va_list rest;
    va_start(rest, command);
    const long argument = va_arg(rest, long);
    va_end(rest);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
        if (const int error = udtx::faults::error_of(Kind::duplicate)) return errno = error, -1;
    }
    return real(fd, command, argument);
}
