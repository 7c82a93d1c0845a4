// Where there are fewer threads than lanes, those that there are do all the work.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

#include "io/crew.hpp"
#include "test/catch.hpp"

using namespace udtx;

namespace {

std::atomic<int> granted{-1};  // threads until there is none left; negative: no end

}  // namespace

// In place of the system's, also for the C++ library.
extern "C" int pthread_create(pthread_t* out, const pthread_attr_t* how, void* (*run)(void*), void* with) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto real = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
    if (granted == 0) return EAGAIN;
    if (granted > 0) --granted;
    return real(out, how, run, with);
}

namespace {

/// A crew of four that may have so many threads works a hundred pieces off; returns its lanes.
std::size_t work_with(int threads) {
    std::atomic<int> pieces{100};
    granted = threads;
    io::Crew crew(4, [&](std::size_t) { return pieces > 0 && --pieces >= 0; });
    granted = -1;
    crew.call(4);
    for (int tries = 0; tries < 20'000 && pieces > 0; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(pieces <= 0);
    return crew.lanes();
}

}  // namespace

TEST_CASE("A crew works with the threads that are to be had") {
    for (const int threads : {1, 2, 3, 4}) CHECK(work_with(threads) == static_cast<std::size_t>(threads));
    CHECK(work_with(-1) == 4);
}

TEST_CASE("A crew without one thread says so") { CHECK_THROWS_AS(work_with(0), std::system_error); }
