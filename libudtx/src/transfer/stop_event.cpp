#include "transfer/stop_event.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "udtx/descriptor.hpp"

namespace udtx::transfer {

StopEvent::StopEvent() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw std::system_error(errno, std::generic_category());
    read_end_.reset(ends[0]);
    write_end_.reset(ends[1]);
}

void StopEvent::stop() noexcept {
    const char byte = 0;
    [[maybe_unused]] const ssize_t n = again([&] { return ::write(write_end_.get(), &byte, 1); });
}

bool StopEvent::wait(int fd, short events) const noexcept {
    std::array<pollfd, 2> fds{{{fd, events, 0}, {read_end_.get(), POLLIN, 0}}};
    while (::poll(fds.data(), fds.size(), -1) < 0) {
        if (errno != EINTR) return false;
    }
    return fds[1].revents == 0;
}

bool StopEvent::ready(int fd, short events) noexcept {
    pollfd one{fd, events, 0};
    return ::poll(&one, 1, 0) > 0;
}

}  // namespace udtx::transfer
