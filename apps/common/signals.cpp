#include "common/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "common/units.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::apps {
namespace {

// SIGXCPU: the time limit of `ulimit -t` is used up, and SIGKILL follows.
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGXCPU};
std::atomic<int> g_pipe{-1};  // a signal handler can reach it only through a global
static_assert(std::atomic<int>::is_always_lock_free);

// Events of one transfer must not end a server. With SIGPIPE and SIGXFSZ (`ulimit -f`) ignored, write() returns an
// error. Some users send SIGUSR1 or SIGUSR2 to ask a copy program for its progress.
constexpr std::array kIgnored{SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2};

extern "C" void udtx_on_signal(int signal) {
    const int saved = errno;
    const auto byte = static_cast<unsigned char>(signal);
    // If the pipe is full, it holds enough signals already.
    [[maybe_unused]] const ssize_t n = again([&] { return ::write(g_pipe.load(), &byte, 1); });
    errno = saved;
}

}  // namespace

void restore_ignored(sigset_t& defaults) noexcept {
    for (const int signal : kIgnored) sigaddset(&defaults, signal);
}

SignalWaiter::SignalWaiter() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    read_end_ = ends[0];
    write_end_ = ends[1];
    for (const int fd : ends) {
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
        ::fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    g_pipe = write_end_;
    struct sigaction action {};
    action.sa_handler = udtx_on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (const int signal : kSignals) {
        struct sigaction before {};
        if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        ::sigaction(signal, &action, nullptr);
        caught_.push_back(signal);
    }
    for (const int signal : kIgnored) std::signal(signal, SIG_IGN);
}

SignalWaiter::~SignalWaiter() {
    for (const int signal : caught_) std::signal(signal, SIG_DFL);
    g_pipe = -1;
    ::close(read_end_);
    ::close(write_end_);
}

std::optional<int> SignalWaiter::wait(std::chrono::milliseconds timeout) {
    pollfd entry{read_end_, POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
    unsigned char byte = 0;
    if (again([&] { return ::read(read_end_, &byte, 1); }) != 1 || byte == 0) return std::nullopt;
    return static_cast<int>(byte);
}

void SignalWaiter::wake() {
    const unsigned char byte = 0;
    [[maybe_unused]] const ssize_t n = again([&] { return ::write(write_end_, &byte, 1); });
}

Interruption::Wish Interruption::on_signal(int signal, Instant now) noexcept {
    if (signal_ != 0) return now - first_ < kOneGesture ? Wish::repeated : Wish::leave;
    signal_ = signal;
    first_ = now;
    return Wish::wind_up;
}

const char* signal_name(int signal) noexcept {
    switch (signal) {
        case SIGINT:
            return "SIGINT";
        case SIGTERM:
            return "SIGTERM";
        case SIGHUP:
            return "SIGHUP";
        case SIGXCPU:
            return "SIGXCPU (ulimit -t)";
        default:
            return "a signal";
    }
}

std::string repeated_signal(int signal) {
    return std::string(signal_name(signal)) + " within " + format_elapsed(Interruption::kOneGesture) +
           " of the last signal counts as the same one; a later one takes effect";
}

}  // namespace udtx::apps
