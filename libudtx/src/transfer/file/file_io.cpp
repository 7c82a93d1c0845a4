#include "transfer/file/file_io.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <initializer_list>
#include <thread>

#include "os/system.hpp"
#include "transfer/disk_pool.hpp"

#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

namespace udtx::transfer {

namespace {

struct CloseDir {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

timespec to_timespec(const FileTime& time) {
    timespec out = {};
    out.tv_sec = static_cast<time_t>(time.seconds);
    out.tv_nsec = static_cast<long>(time.nanoseconds);
    return out;
}

// Descriptors of the process itself: socket, pipes, log, status page and its visitors.
constexpr std::size_t kOwnDescriptors = 18;
// Descriptors that a job holds for its directories and its journal alone.
constexpr std::size_t kHeldDescriptors = 5;
// Parts of a job that get a share: open files, files that wait for their commit, files being committed, the directories
// of those, directories to be synced at the end, and files whose pieces are being synced.
constexpr std::size_t kParts = 6;
// Descriptors that a job needs at least.
constexpr std::size_t kLeastDescriptors = kHeldDescriptors + kParts;
constexpr std::size_t kFewJobs = 16;
// A step of a job returns its descriptors after milliseconds, except on a slow disk.
constexpr std::chrono::milliseconds kLongestWait{10'000};
constexpr std::chrono::milliseconds kWaitStep{5};

std::atomic<std::size_t> claims{0};
std::atomic<std::size_t> own_descriptors{kOwnDescriptors};

/// Descriptors that the process may have, beyond its own.
std::size_t descriptors_for_jobs() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1000;
    const auto most = static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1U << 30U));
    return most - std::min(most, own_descriptors.load());
}

}  // namespace

std::size_t descriptor_share() {
    const std::size_t jobs = std::max(claims.load(), kFewJobs);
    const std::size_t held = kHeldDescriptors * jobs;
    const std::size_t all = descriptors_for_jobs();
    return std::clamp<std::size_t>((all - std::min(all, held)) / (kParts * jobs), 1, 64);
}

bool DescriptorWait::again(int error_number) noexcept {
    const bool lacking = error_number == EMFILE || error_number == ENFILE;
    // A job that is alone holds all descriptors itself.
    if (!lacking || !DiskPool::is_this_thread() || claims.load() < 2 || waited_ >= kLongestWait) return false;
    std::this_thread::sleep_for(kWaitStep);
    waited_ += kWaitStep;
    errno = error_number;
    return true;
}

std::size_t jobs_with_descriptors() { return descriptors_for_jobs() / kLeastDescriptors; }

void reserve_descriptors(std::ptrdiff_t more) noexcept { own_descriptors += static_cast<std::size_t>(more); }

std::unique_ptr<DescriptorClaim> DescriptorClaim::take() {
    const std::size_t others = claims++;
    if (others == 0 || (others + 1) * kLeastDescriptors <= descriptors_for_jobs()) {
        return std::unique_ptr<DescriptorClaim>(new DescriptorClaim());
    }
    --claims;
    return nullptr;
}

DescriptorClaim::~DescriptorClaim() { --claims; }

int set_file_time(int fd, const FileTime& mtime) {
    timespec times[2] = {{0, UTIME_OMIT}, to_timespec(mtime)};
    const auto set = [&] { return again([&] { return ::futimens(fd, times); }) == 0 ? 0 : errno; };
    if (const int error = set(); error != 0) return error;
    struct stat st = {};
    if (::fstat(fd, &st) != 0 || mtime_of(st) == mtime) return 0;
    // File systems on libfuse 2 ignore the call if only one of the two times is set.
    times[0] = st.st_atim;
    return set();
}

int set_link_time(int directory, const std::string& name, const FileTime& mtime) {
    timespec times[2] = {{0, UTIME_OMIT}, to_timespec(mtime)};
    const auto set = [&] {
        const auto call = [&] { return ::utimensat(directory, name.c_str(), times, AT_SYMLINK_NOFOLLOW); };
        return again(call) == 0 ? 0 : errno;
    };
    if (const int error = set(); error != 0) return error;
    struct stat st = {};
    if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || mtime_of(st) == mtime) return 0;
    times[0] = st.st_atim;  // as above
    return set();
}

std::vector<std::string> names_in(int directory, int& error) {
    std::vector<std::string> out;
    UniqueFd own(open_entry(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDir> opened(own ? ::fdopendir(own.get()) : nullptr);
    error = opened ? 0 : errno;
    if (!opened) return out;
    static_cast<void>(own.release());
    errno = 0;
    while (const dirent* found = ::readdir(opened.get())) {
        std::string name = found->d_name;
        if (name != "." && name != "..") out.push_back(std::move(name));
        errno = 0;
    }
    error = errno;
    std::sort(out.begin(), out.end());
    return out;
}

Error io_error(std::string_view what, std::string_view name, int error_number) {
    return system_failure(ErrorCode::file_io, std::string(what) + " '" + escape_name(name) + '\'', error_number);
}

bool is_shortage(const Error& error) {
    const int number = error.system_error;
    return error.code == ErrorCode::no_resources ||
           (error.code == ErrorCode::file_io && (number == EMFILE || number == ENFILE || number == ENOMEM));
}

std::string refusal_for(const Error& shortage) {
    return "no resources left for another client (" + shortage.message + "); try again later";
}

int write_all_at(int fd, std::span<const std::byte> bytes, std::uint64_t offset) {
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        if (n == 0) return ENOSPC;
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return 0;
}

int read_all_at(int fd, std::span<std::byte> out, std::uint64_t offset, std::size_t& count) {
    count = 0;
    while (count < out.size()) {
        const ssize_t n = ::pread(fd, out.data() + count, out.size() - count, static_cast<off_t>(offset + count));
        if (n < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        if (n == 0) break;
        count += static_cast<std::size_t>(n);
    }
    return 0;
}

int open_entry(int directory, const char* name, int flags, mode_t mode) noexcept {
    DescriptorWait wait;
    for (;;) {
        const int fd = ::openat(directory, name, flags, mode);
        if (fd >= 0 || (errno != EINTR && !wait.again(errno))) return fd;
    }
}

int set_length(int fd, off_t length) noexcept {
    for (;;) {
        const int result = ::ftruncate(fd, length);
        if (result == 0 || errno != EINTR) return result;
    }
}

std::optional<std::uint64_t> mount_of(int fd) noexcept {
#ifdef STATX_MNT_ID
    struct statx facts = {};
    if (::statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &facts) == 0 && (facts.stx_mask & STATX_MNT_ID) != 0) {
        return facts.stx_mnt_id;
    }
#else
    static_cast<void>(fd);
#endif
    return std::nullopt;
}

std::optional<std::uint64_t> synced_mount_of(int fd) noexcept {
#ifdef __linux__
    struct statfs system = {};
    if (again([&] { return ::fstatfs(fd, &system); }) != 0 || system.f_type == FUSE_SUPER_MAGIC) return std::nullopt;
#endif
    return mount_of(fd);
}

int sync_data(int fd) {
    while (::fdatasync(fd) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

int sync_directory(int fd) {
    while (::fsync(fd) != 0) {
        if (knows_no_sync(errno)) return 0;  // some file systems sync files only
        if (errno != EINTR) return errno;
    }
    return 0;
}

bool knows_no_sync(int error_number) noexcept {
    return error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP;
}

FileTime mtime_of(const struct stat& st) noexcept {
    return {static_cast<std::int64_t>(st.st_mtim.tv_sec), static_cast<std::uint32_t>(st.st_mtim.tv_nsec)};
}

FileTimes times_of(const struct stat& st) noexcept {
    return {mtime_of(st),
            {static_cast<std::int64_t>(st.st_ctim.tv_sec), static_cast<std::uint32_t>(st.st_ctim.tv_nsec)}};
}

#ifdef __linux__

void widen_pipe(int fd) noexcept {
    constexpr int kWide = 1 << 20;
    if (const int now = ::fcntl(fd, F_GETPIPE_SZ); now > 0 && now < kWide) (void)::fcntl(fd, F_SETPIPE_SZ, kWide);
}

UniqueFd writer_without_blocking(int pipe) {
    const std::string path = "/proc/self/fd/" + std::to_string(pipe);
    return UniqueFd(open_file(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

#else

void widen_pipe(int /*fd*/) noexcept {}

UniqueFd writer_without_blocking(int /*pipe*/) { return {}; }

#endif

}  // namespace udtx::transfer
