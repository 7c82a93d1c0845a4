#include "transfer/file/confined_dir.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"

#if defined(__linux__) && defined(SYS_openat2)
#include <linux/openat2.h>
#define UDTX_HAVE_OPENAT2 1
#endif

namespace udtx::transfer {

namespace {

bool bars_owner(const struct stat& st) {
    return (st.st_mode & mode_bits::kOwner) != mode_bits::kOwner && st.st_uid == ::geteuid();
}

// Without O_NONBLOCK, opening a FIFO that somebody put there would block for ever.
constexpr int kAlways = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

#ifdef UDTX_HAVE_OPENAT2
int call_openat2(int directory, const char* path, int flags, mode_t mode) {
    struct open_how how = {};
    how.flags = static_cast<unsigned>(flags);
    how.mode = (flags & O_CREAT) != 0 ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    DescriptorWait wait;
    for (int attempt = 0;; ++attempt) {
        const long fd = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
        // EAGAIN: the kernel could not rule out a race with a rename and asks for another attempt.
        const bool again = fd < 0 && (errno == EINTR || (errno == EAGAIN && attempt < 64) || wait.again(errno));
        if (!again) return static_cast<int>(fd);
    }
}
#endif

}  // namespace

int open_up_directory(int parent, const std::string& name, std::uint32_t& before, const BeforeOpening& about_to) {
#ifdef O_PATH
    constexpr int kAccess = O_PATH;  // works without the right to read
#else
    constexpr int kAccess = O_RDONLY;
#endif
    const UniqueFd fd(open_entry(parent, name.c_str(), kAccess | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat st = {};
    if (!fd || ::fstat(fd.get(), &st) != 0) return errno;
    before = static_cast<std::uint32_t>(st.st_mode) & mode_bits::kAll;
    if (!bars_owner(st)) return 0;
    about_to(before);
    const auto wanted = static_cast<mode_t>(before | mode_bits::kOwner);
#ifdef O_PATH
    // fchmod() refuses an O_PATH descriptor, and chmod() by name would follow an entry that was replaced meanwhile.
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd.get());
    if (again([&] { return ::chmod(by_descriptor.c_str(), wanted); }) == 0) return 0;
    const int error = errno;
    // Without /proc, a directory that may be read can be opened.
    const UniqueFd readable(open_entry(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return readable && ::fchmod(readable.get(), wanted) == 0 ? 0 : error;
#else
    return ::fchmod(fd.get(), wanted) == 0 ? 0 : errno;
#endif
}

std::optional<std::uint32_t> open_up(int directory) {
    struct stat st = {};
    if (::fstat(directory, &st) != 0 || !bars_owner(st)) return std::nullopt;
    const auto before = static_cast<std::uint32_t>(st.st_mode) & mode_bits::kAll;
    const auto wanted = static_cast<mode_t>(before | mode_bits::kOwner);
    if (again([&] { return ::fchmod(directory, wanted); }) != 0) return std::nullopt;
    return before;
}

BriefRights::~BriefRights() {
    if (before_) static_cast<void>(again([this] { return ::fchmod(directory_, static_cast<mode_t>(*before_)); }));
}

bool may_umask_bar_owner() {
    // Reading it with umask() would set it for a moment, for all threads.
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        unsigned mask = 0;
        if (word == "Umask:" && status >> std::oct >> mask) return (mask & mode_bits::kOwner) != 0;
    }
    return true;
}

void remove_from(int directory, const std::string& name) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno != EACCES) return;
    const BriefRights rights(directory);
    ::unlinkat(directory, name.c_str(), 0);
}

Result<ConfinedDir> ConfinedDir::open(const std::string& path, Resolve resolve) {
    UniqueFd fd(open_entry(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return io_error("cannot open directory", path, errno);
    return ConfinedDir(std::move(fd), resolve);
}

Result<ConfinedDir> ConfinedDir::open_below(const std::string& path, std::string_view below) {
    auto opened = open(path);
    if (opened && !below.empty()) opened = opened->subdirectory(below);
    if (opened || opened.error().system_error != ENOENT) return opened;
    Error absent = opened.error();
    absent.message += " (create it before the transfer)";
    return absent;
}

Result<ConfinedDir> ConfinedDir::make_subdirectory(std::string_view path) const {
    auto [at, error] = open_directory("");
    for (const std::string& component : split_path(path)) {
        if (auto checked = check_component(component); !checked) return checked.error();
        if (!at) break;
        UniqueFd next;
        bool made = ::mkdirat(at.get(), component.c_str(), 0777) == 0;
        if (!made && errno == EACCES) {
            const BriefRights rights(at.get());
            made = ::mkdirat(at.get(), component.c_str(), 0777) == 0;
        }
        const int unsynced = made ? sync_directory(at.get()) : 0;
        if (unsynced != 0) return io_error("cannot make directory", path, unsynced);
        // As `mkdir -p` does it, the owner may go on in what was made, whatever the umask is.
        std::uint32_t masked = 0;
        if (made) static_cast<void>(open_up_directory(at.get(), component, masked));
        if (made || errno == EEXIST) {
            next.reset(open_entry(at.get(), component.c_str(), O_RDONLY | O_DIRECTORY | kAlways));
        }
        error = next ? 0 : errno;
        at = std::move(next);
    }
    if (!at) return io_error("cannot make directory", path, error);
    return ConfinedDir(std::move(at), resolve_);
}

Result<ConfinedDir> ConfinedDir::subdirectory(std::string_view path) const {
    auto [fd, error] = open_directory(path);
    if (!fd) return io_error("cannot open directory", path, error);
    return ConfinedDir(std::move(fd), resolve_);
}

OpenedFd ConfinedDir::open_at(std::string_view path, int flags, mode_t mode) const {
    if (!path.empty() && (!check_path(split_path(path)) || path.front() == '/')) return {{}, EINVAL};
#ifdef UDTX_HAVE_OPENAT2
    if (resolve_ == Resolve::best) {
        const std::string name = path.empty() ? "." : std::string(path);
        UniqueFd fd(call_openat2(fd_.get(), name.c_str(), flags | kAlways, mode));
        if (fd) return {std::move(fd)};
        // EPERM: seccomp filters older than this call return it.
        if (errno != ENOSYS && errno != EPERM) return {{}, errno};
    }
#endif
    return open_by_component(path, flags, mode);
}

OpenedFd ConfinedDir::open_by_component(std::string_view path, int flags, mode_t mode) const {
    const auto components = split_path(path);
    UniqueFd at(open_entry(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!at) return {{}, errno};
    for (std::size_t i = 0; i < components.size(); ++i) {
        const bool last = i + 1 == components.size();
        const int step = last ? flags | kAlways : O_RDONLY | O_DIRECTORY | kAlways;
        UniqueFd next(open_entry(at.get(), components[i].c_str(), step, mode));
        if (!next) return {{}, errno};
        at = std::move(next);
    }
    return {std::move(at)};
}

SplitName split_leaf(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return {"", std::string(path)};
    return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

}  // namespace udtx::transfer
