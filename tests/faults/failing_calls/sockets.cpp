// Stand-ins for calls that use sockets, and for those that wait for them.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstddef>

#include "stand_in.hpp"

using udtx::faults::Kind;

namespace {

/// Fails `call(n)`, or calls it with fewer messages.
template <typename Call>
int moving(Kind kind, unsigned n, const Call& call) {
    const int error = udtx::faults::next(kind);
    if (error > 0) {
        errno = error;
        return -1;
    }
    return call(error == udtx::faults::kShort && n > 1 ? n / 2 : n);
}

}  // namespace

UDTX_FAILS(Kind::send, ssize_t, -1, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags))
UDTX_FAILS(Kind::send, ssize_t, -1, sendto,
           (int fd, const void* from, std::size_t n, int flags, const sockaddr* to, socklen_t length),
           (fd, from, n, flags, to, length))
UDTX_STAND_IN(int, sendmmsg, (int fd, mmsghdr* messages, unsigned n, int flags)) {
    UDTX_REAL(sendmmsg, int (*)(int, mmsghdr*, unsigned, int));
    return moving(Kind::send, n, [&](unsigned part) { return real(fd, messages, part, flags); });
}
UDTX_FAILS(Kind::receive, ssize_t, -1, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))
UDTX_FAILS(Kind::receive, ssize_t, -1, recvfrom,
           (int fd, void* out, std::size_t n, int flags, sockaddr* from, socklen_t* length),
           (fd, out, n, flags, from, length))
UDTX_STAND_IN(int, recvmmsg, (int fd, mmsghdr* messages, unsigned n, int flags, timespec* at_most)) {
    UDTX_REAL(recvmmsg, int (*)(int, mmsghdr*, unsigned, int, timespec*));
    return moving(Kind::receive, n, [&](unsigned part) { return real(fd, messages, part, flags, at_most); });
}
UDTX_FAILS(Kind::socket, int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
UDTX_FAILS(Kind::bind, int, -1, bind, (int fd, const sockaddr* at, socklen_t length), (fd, at, length))
UDTX_FAILS(Kind::option, int, -1, setsockopt, (int fd, int level, int name, const void* value, socklen_t length),
           (fd, level, name, value, length))
UDTX_FAILS(Kind::option, int, -1, getsockopt, (int fd, int level, int name, void* value, socklen_t* length),
           (fd, level, name, value, length))
UDTX_FAILS(Kind::bind, int, -1, getsockname, (int fd, sockaddr* at, socklen_t* length), (fd, at, length))
UDTX_FAILS(Kind::poll, int, -1, poll, (pollfd * entries, nfds_t n, int milliseconds), (entries, n, milliseconds))
UDTX_FAILS(Kind::poll, int, -1, ppoll, (pollfd * entries, nfds_t n, const timespec* at_most, const __sigset_t* blocked),
           (entries, n, at_most, blocked))
UDTX_FAILS(Kind::poll, int, -1, epoll_wait, (int fd, epoll_event* events, int most, int milliseconds),
           (fd, events, most, milliseconds))
UDTX_FAILS(Kind::pipe, int, -1, epoll_create1, (int flags), (flags))
UDTX_FAILS(Kind::pipe, int, -1, eventfd, (unsigned value, int flags), (value, flags))
UDTX_FAILS(Kind::pipe, int, -1, pipe, (int* ends), (ends))
UDTX_FAILS(Kind::pipe, int, -1, pipe2, (int* ends, int flags), (ends, flags))
UDTX_FAILS(Kind::timer, int, -1, timerfd_create, (int clock, int flags), (clock, flags))
UDTX_FAILS(Kind::timer, int, -1, timerfd_settime, (int fd, int flags, const itimerspec* when, itimerspec* before),
           (fd, flags, when, before))
