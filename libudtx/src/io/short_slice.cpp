#include "io/short_slice.hpp"

#if defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
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

}  // namespace udtx::io
