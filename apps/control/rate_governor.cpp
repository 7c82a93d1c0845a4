#include "control/rate_governor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/process.hpp"
#include "common/text.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kPrefix = "share-";
constexpr int kTries = 20;

struct CloseDirectory {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

/// Calls flock(), again after EINTR. Returns 0 or an errno.
int lock(int fd, int how) {
    while (::flock(fd, how) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

/// True if the process with the number in `name` runs. For file systems without locks.
bool runs(std::string_view name) {
    name.remove_prefix(kPrefix.size());
    const int pid = parse_number<int>(name.substr(0, name.find('-'))).value_or(0);
    return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

/// A locked file belongs to a running process. An unlocked file is taken for dead and removed, although its process may
/// only just have created it. Therefore join() checks the file again once it holds the lock.
bool is_alive(const std::string& directory, const std::string& name) {
    const std::string path = directory + "/" + name;
    const UniqueFd fd(open_file(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return false;
    const int busy = lock(fd.get(), LOCK_EX | LOCK_NB);
    if (busy == EWOULDBLOCK || (busy != 0 && runs(name))) return true;
    ::unlink(path.c_str());
    return false;
}

}  // namespace

HostShare::HostShare(std::string directory, std::string name, UniqueFd lock)
    : directory_(std::move(directory)), name_(std::move(name)), lock_(std::move(lock)) {}

HostShare::~HostShare() { ::unlink((directory_ + "/" + name_).c_str()); }

Result<std::unique_ptr<HostShare>> HostShare::join(const std::string& directory) {
    static std::atomic<unsigned> number{0};
    const std::string name =
        std::string(kPrefix) + std::to_string(::getpid()) + "-" + std::to_string(number.fetch_add(1));
    const std::string path = directory + "/" + name;
    int error = 0;
    for (int i = 0; i < kTries; ++i) {
        UniqueFd fd(open_file(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (!fd) {
            error = errno;
            break;
        }
        // If the file system has no locks, other processes check this process's number.
        static_cast<void>(lock(fd.get(), LOCK_EX));
        struct stat info {};
        // False if another process took the file for dead and removed it.
        const bool there = ::fstat(fd.get(), &info) == 0 && info.st_nlink > 0;
        if (there) return std::unique_ptr<HostShare>(new HostShare(directory, name, std::move(fd)));
        error = EAGAIN;
    }
    return failed_call(ErrorCode::file_io, "cannot make " + path, error);
}

std::size_t HostShare::count() const {
    std::size_t alive = 1;
    const std::unique_ptr<DIR, CloseDirectory> entries(::opendir(directory_.c_str()));
    if (!entries) return alive;
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string name = entry->d_name;
        if (!name.starts_with(kPrefix) || name == name_) continue;
        if (is_alive(directory_, name)) ++alive;
    }
    return alive;
}

namespace {
constexpr Duration kCountEvery = std::chrono::seconds(1);
}  // namespace

RateGovernor::RateGovernor(const CommonOptions& options, Rate base, Log& log)
    : RateGovernor({.base = base,
                    .schedule = options.schedule,
                    .host = options.host_rate,
                    .fixed = options.policy == Policy::fixed},
                   log) {}

Rate RateGovernor::update(Instant now, bool active) {
    count_others(now, active);
    const Rate host = settings_.host * (1.0 / static_cast<double>(transfers_));
    const auto wish = *wish_.lock();
    Rate cap = wish.value_or(settings_.base);
    if (!wish && settings_.schedule) cap = std::min(cap, settings_.schedule->at(minute_of_day()));
    return std::min(cap, host);
}

Result<void> RateGovernor::set(std::optional<Rate> wish) {
    if (settings_.fixed && wish && wish->is_infinite()) {
        return Error{ErrorCode::invalid_argument, "--policy fixed needs a rate"};
    }
    *wish_.lock() = wish;
    return {};
}

void RateGovernor::count_others(Instant now, bool active) {
    if (settings_.host.is_infinite()) return;
    if (!active) {
        share_.reset();
        counted_.reset();
        return;
    }
    if (!share_ && shared_) {
        const auto directory = runtime_directory();
        auto joined = directory ? HostShare::join(*directory) : directory.error();
        shared_ = joined.ok();
        if (joined) share_ = std::move(*joined);
        if (!joined) log_.warn("the rate of --host-rate is not shared: " + joined.error().message);
    }
    if (!share_ || (counted_ && now - *counted_ < kCountEvery)) return;
    counted_ = now;
    transfers_ = share_->count();
}

}  // namespace udtx::apps
