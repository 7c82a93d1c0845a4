#include "common/descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "udtx/descriptor.hpp"

namespace udtx::apps {

StandardDescriptors::StandardDescriptors() noexcept {
    for (int fd = 0; fd < 3; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        closed_[static_cast<std::size_t>(fd)] = true;
        // open() returns the lowest free number, which is `fd`. The mode is reversed, so that any use fails with an
        // error.
        [[maybe_unused]] const int opened = open_file("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

void raise_descriptor_limit() noexcept {
    constexpr rlim_t kEnough = 16384;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlim_t wanted = std::min(limit.rlim_max, kEnough);
    if (limit.rlim_cur >= wanted) return;
    limit.rlim_cur = wanted;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

int write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return EIO;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

}  // namespace udtx::apps
