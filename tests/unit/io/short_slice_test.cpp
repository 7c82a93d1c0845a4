#include "io/event_loop.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <thread>

#include "test/catch.hpp"

using namespace udtx;

TEST_CASE("a thread that asked for short slices keeps its policy and its nice value, and so do the others") {
    const int nice_before = ::getpriority(PRIO_PROCESS, 0);
    const int policy_before = ::sched_getscheduler(0);
    int nice_of_thread = 99;
    int policy_of_thread = 99;
    std::thread([&] {
        io::ask_for_short_slice();  // the result depends on the kernel
        nice_of_thread = ::getpriority(PRIO_PROCESS, 0);
        policy_of_thread = ::sched_getscheduler(0);
    }).join();
    CHECK(nice_of_thread == nice_before);
    CHECK(policy_of_thread == policy_before);
    CHECK(::getpriority(PRIO_PROCESS, 0) == nice_before);
    CHECK(::sched_getscheduler(0) == policy_before);
}
