#include "transfer/file/pipe.hpp"

#include <fcntl.h>

#include <string>

namespace udtx::transfer {

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
