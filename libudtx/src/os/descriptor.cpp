#include "udtx/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace udtx {

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
