// A wall clock that changes all the time: a preloaded library that moves it every 300 ms by ten years, forward and
// back. Clocks that measure time intervals are unaffected.
#include <dlfcn.h>
#include <sys/time.h>

#include <array>
#include <cstdint>
#include <ctime>

namespace {

using Gettime = int (*)(clockid_t, timespec*);

Gettime real() {
    static const auto found = reinterpret_cast<Gettime>(::dlsym(RTLD_NEXT, "clock_gettime"));
    return found;
}

/// Present offset of the wall clock, in seconds.
std::time_t off() {
    constexpr std::time_t kTenYears = 10L * 365 * 86400;
    timespec now{};
    real()(CLOCK_MONOTONIC, &now);
    const auto turn =
        (static_cast<std::uint64_t>(now.tv_sec) * 10 + static_cast<std::uint64_t>(now.tv_nsec) / 100'000'000) / 3;
    constexpr std::array<std::time_t, 3> offsets{0, kTenYears, -kTenYears};
    return offsets[turn % offsets.size()];
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) {
    const int result = real()(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += off();
    return result;
}

std::time_t time(std::time_t* at) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (at != nullptr) *at = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(timeval* at, void* /*zone*/) {
    timespec now{};
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    *at = {now.tv_sec, now.tv_nsec / 1000};
    return result;
}

}  // extern "C"
