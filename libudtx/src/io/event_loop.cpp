#include "io/event_loop.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <system_error>
#include <utility>

#include "udtx/system.hpp"

#ifdef __linux__
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

namespace udtx::io {

#if defined(__linux__) && defined(SYS_sched_getattr) && defined(SYS_sched_setattr)

namespace {

/// The first version of struct sched_attr (sched_setattr(2)), which the C library of Debian 12 does not declare.
struct Attributes {
    std::uint32_t size = sizeof(Attributes);
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;  ///< with SCHED_OTHER the time slice; 0: the default one
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
};
static_assert(sizeof(Attributes) == 48, "SCHED_ATTR_SIZE_VER0");

constexpr std::uint64_t kShortestSlice = 100'000;  // ns, the kernel's lower bound
constexpr std::uint64_t kResetOnFork = 1;          // SCHED_FLAG_RESET_ON_FORK

}  // namespace

bool ask_for_short_slice() noexcept {
    Attributes now;
    if (::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return false;
    if (now.policy != SCHED_OTHER || now.runtime_ns == kShortestSlice) return false;
    now.size = sizeof now;
    now.flags &= kResetOnFork;
    now.runtime_ns = kShortestSlice;
    return ::syscall(SYS_sched_setattr, 0, &now, 0) == 0;
}

#else

bool ask_for_short_slice() noexcept { return false; }

#endif

void ask_for_exact_waits() noexcept {
#if defined(__linux__)
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // ns
#endif
}

void ignore_broken_pipes() noexcept {
    sigset_t broken;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
}

namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// `at_most`: below zero without a limit. Returns what poll() returns.
int poll_for(std::span<pollfd> entries, Duration at_most) noexcept {
    constexpr Duration kLongest = std::chrono::hours(1);
    at_most = std::min(at_most, kLongest);
#ifdef __linux__
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    timespec limit{};
    limit.tv_sec = static_cast<std::time_t>(seconds.count());
    limit.tv_nsec = static_cast<decltype(limit.tv_nsec)>(std::chrono::nanoseconds(at_most - seconds).count());
    return ::ppoll(entries.data(), entries.size(), at_most < Duration::zero() ? nullptr : &limit, nullptr);
#else
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    return ::poll(entries.data(), entries.size(), at_most < Duration::zero() ? -1 : static_cast<int>(limit));
#endif
}

}  // namespace

EventLoop::EventLoop() {
#ifdef __linux__
    wake_read_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_read_) fail("eventfd");
#else
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) fail("pipe");
    wake_read_.reset(ends[0]);
    wake_write_.reset(ends[1]);
    for (const int end : ends) {
        if (::fcntl(end, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(end, F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
    }
#endif
}

EventLoop::~EventLoop() {
    // What a dropped call owns may post again when it ends.
    while (posted() > 0) {
        std::deque<std::function<void()>> dropped;
        const Lock lock(mutex_);
        std::swap(dropped, posted_);
    }
}

void EventLoop::post(std::function<void()> fn) {
    bool asleep = false;
    {
        const Lock lock(mutex_);
        posted_.push_back(std::move(fn));
        asleep = std::exchange(waiting_, false);
    }
    if (asleep) wake();
}

void EventLoop::interrupt() noexcept {
    bool asleep = false;
    {
        const Lock lock(mutex_);
        interrupted_ = true;
        asleep = std::exchange(waiting_, false);
    }
    if (asleep) wake();
}

bool EventLoop::take_interrupt() noexcept {
    const Lock lock(mutex_);
    return std::exchange(interrupted_, false);
}

/// A full pipe or counter wakes the thread too.
void EventLoop::wake() noexcept {
    const std::uint64_t one = 1;
    const int fd = wake_write_ ? wake_write_.get() : wake_read_.get();
    static_cast<void>(again([&] { return ::write(fd, &one, sizeof one); }));
}

std::size_t EventLoop::posted() noexcept {
    const Lock lock(mutex_);
    return posted_.size();
}

void EventLoop::run_one() {
    std::function<void()> fn;
    {
        const Lock lock(mutex_);
        if (posted_.empty()) return;
        fn = std::move(posted_.front());
        posted_.pop_front();
    }
    fn();
}

namespace {

short poll_events(bool readable, bool writable) noexcept {
    return static_cast<short>((readable ? POLLIN : 0) | (writable ? POLLOUT : 0));
}

}  // namespace

EventLoop::Readiness EventLoop::wait(int fd, Readiness wanted, std::optional<Instant> until,
                                     std::span<os::Watch> others) {
    const short events = poll_events(wanted.readable, wanted.writable);
    entries_.clear();
    // poll() reports errors of a socket even if nothing is wanted.
    entries_.push_back({events != 0 ? fd : -1, events, 0});
    entries_.push_back({wake_read_.get(), POLLIN, 0});
    for (const os::Watch& other : others) {
        entries_.push_back({other.fd, poll_events(other.readable, other.writable), 0});
    }
    Duration at_most = until ? std::max(*until - monotonic_now(), Duration::zero()) : Duration(-1);
    {
        const Lock lock(mutex_);
        if (interrupted_ || !posted_.empty()) at_most = Duration::zero();
        waiting_ = at_most != Duration::zero();
    }
    const int ready = poll_for(entries_, at_most);
    const int error = errno;
    {
        const Lock lock(mutex_);
        waiting_ = false;
    }
    if (ready < 0 && error != EINTR) throw std::system_error(error, std::generic_category(), "poll");
    if (ready <= 0) return {};
    if (entries_[1].revents != 0) {
        std::array<std::uint64_t, 16> counts;
        static_cast<void>(again([&] { return ::read(wake_read_.get(), counts.data(), sizeof counts); }));
    }
    for (std::size_t i = 0; i < others.size(); ++i) others[i].ready = entries_[2 + i].revents != 0;
    const int got = entries_[0].revents;
    const bool failed = (got & ~(POLLIN | POLLOUT)) != 0;
    return {.readable = wanted.readable && (failed || (got & POLLIN) != 0),
            .writable = wanted.writable && (failed || (got & POLLOUT) != 0)};
}

}  // namespace udtx::io
