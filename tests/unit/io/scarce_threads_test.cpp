// If fewer threads than packet threads can start, those that exist do all the work. A server that gets no thread can be
// started later.
#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <system_error>
#include <thread>

#include "io/packet_threads.hpp"
#include "test/catch.hpp"
#include "udtx/session.hpp"
#include "udtx/transfer/server.hpp"

using namespace udtx;

namespace {

std::atomic<int> granted{-1};  // threads that may still start; negative: no limit

}  // namespace

// Replaces the system's function, also for the C++ library.
extern "C" int pthread_create(pthread_t* out, const pthread_attr_t* how, void* (*run)(void*), void* with) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto real = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
    if (granted == 0) return EAGAIN;
    if (granted > 0) --granted;
    return real(out, how, run, with);
}

namespace {

/// Runs a hundred pieces of work on a crew of four that may start so many threads; returns its number of packet
/// threads.
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
    return crew.packet_threads();
}

}  // namespace

TEST_CASE("A crew works with the threads that are to be had") {
    for (const int threads : {1, 2, 3, 4}) CHECK(work_with(threads) == static_cast<std::size_t>(threads));
    CHECK(work_with(-1) == 4);
}

TEST_CASE("A crew without one thread says so") { CHECK_THROWS_AS(work_with(0), std::system_error); }

TEST_CASE("A server that does not get its threads is not started, and can be started again") {
    const std::array<std::byte, Credentials::kPskBytes> key{};
    auto server = transfer::Server::open({.listen = "127.0.0.1:0", .credentials = Credentials::from_psk(key)});
    REQUIRE(server);
    for (const int threads : {0, 1, 2, 3, 1}) {
        granted = threads;
        const auto started = server->start();
        granted = -1;
        REQUIRE_FALSE(started);
        CHECK(started.error().code == ErrorCode::no_resources);
        server->wait();
    }
    REQUIRE(server->start());
    CHECK_FALSE(server->wait(std::chrono::milliseconds(1)));
    server->cancel();
    CHECK(server->wait(std::chrono::seconds(60)));
}

TEST_CASE("Who cannot have a thread is told so, and nothing is left running") {
    const std::array<std::byte, Credentials::kPskBytes> key{};
    const auto credentials = Credentials::from_psk(key);
    granted = 0;
    const auto listener = Listener::bind("127.0.0.1:0", credentials);
    const auto session = Session::connect("127.0.0.1", 9, credentials);
    granted = -1;
    REQUIRE_FALSE(listener);
    CHECK(listener.error().code == ErrorCode::no_resources);
    REQUIRE_FALSE(session);
    CHECK(session.error().code == ErrorCode::no_resources);
    for (const int threads : {0, 1}) {
        granted = threads;
        const auto waiting = transfer::await_sender({.listen = "127.0.0.1:0", .credentials = credentials},
                                                    {.directory = ".", .dry_run = true});
        granted = -1;
        REQUIRE_FALSE(waiting);
        CHECK(waiting.error().code == ErrorCode::no_resources);
    }
}
