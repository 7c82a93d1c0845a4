#include "os/system.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "udtx/descriptor.hpp"

namespace udtx {

Error system_failure(ErrorCode code, std::string what, int error_number) {
    const bool scarce = error_number == EMFILE || error_number == ENFILE || error_number == ENOBUFS;
    if (error_number == ENOMEM || (scarce && code == ErrorCode::network)) code = ErrorCode::no_resources;
    return {code, std::move(what) + ": " + std::generic_category().message(error_number), error_number};
}

std::string remedy_for_no_thread(int error_number) {
    switch (error_number) {
        case EPERM:
        case EACCES:
        case ENOSYS:
            return "the system forbids it: allow clone3 and clone in the sandbox (seccomp, container, service unit)";
        case ENOMEM:
            return "free some memory, or raise its limit (ulimit -v, the memory cgroup)";
        default:
            return "raise the limit of processes (ulimit -u, the pids cgroup)";
    }
}

int error_number_of(const std::exception& thrown) noexcept {
    if (const auto* standard = dynamic_cast<const std::system_error*>(&thrown)) {
        const auto& category = standard->code().category();
        const bool is_errno = category == std::system_category() || category == std::generic_category();
        return is_errno ? standard->code().value() : 0;
    }
    return 0;
}

int open_file(const char* path, int flags, unsigned mode) noexcept {
    return again([&] { return ::open(path, flags, mode); });
}

int UniqueFd::close() noexcept {
    const int fd = release();
    // After EINTR the descriptor is closed too.
    return fd < 0 || ::close(fd) == 0 || errno == EINTR ? 0 : errno;
}

void UniqueFd::reset(int fd) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

}  // namespace udtx
