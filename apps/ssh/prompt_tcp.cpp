#include "ssh/prompt_tcp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cerrno>

namespace udtx::apps {
namespace {

// A login that takes longer waits for a user who types.
constexpr std::chrono::seconds kFor{20};

#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
// ssh opens few files, so its connection has one of these numbers.
constexpr int kFirst = 3;
constexpr int kLast = 9;

int open_process(pid_t child) {
    // A filter of system calls may kill a process that asks for another one's descriptors.
    if (::prctl(PR_GET_SECCOMP) != 0) return -1;
    return static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
}

/// Copies a descriptor of the process for a moment, to set its TCP options. False: the system forbids it.
bool hasten_one(int process, int number) {
    const UniqueFd copy(static_cast<int>(::syscall(SYS_pidfd_getfd, process, number, 0)));
    if (!copy) return errno == EBADF;
    const int on = 1;
    // Fails without effect if it is not a TCP socket.
    static_cast<void>(::setsockopt(copy.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    static_cast<void>(::setsockopt(copy.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on));
    return true;
}
#else
constexpr int kFirst = 0;
constexpr int kLast = 0;
int open_process(pid_t) { return -1; }
bool hasten_one(int, int) { return false; }
#endif

}  // namespace

PromptTcp::PromptTcp(pid_t child) : process_(open_process(child)), until_(std::chrono::steady_clock::now() + kFor) {}

bool PromptTcp::hasten() {
    if (!process_ || std::chrono::steady_clock::now() >= until_) return false;
    for (int number = kFirst; number <= kLast; ++number) {
        if (!hasten_one(process_.get(), number)) return false;
    }
    return true;
}

}  // namespace udtx::apps
