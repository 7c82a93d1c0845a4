#include "io/event_loop.hpp"

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "test/catch.hpp"
#include "udtx/system.hpp"

using namespace udtx;
using namespace std::chrono_literals;

namespace {

constexpr io::EventLoop::Readiness kBoth{.readable = true, .writable = true};

struct Pair {
    Pair() {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) == 0);
        near.reset(ends[0]);
        far.reset(ends[1]);
    }
    UniqueFd near, far;
};

}  // namespace

TEST_CASE("a loop runs calls in their order, one at a time, and removes one that throws") {
    io::EventLoop loop;
    std::vector<int> ran;
    loop.post([&] { ran.push_back(1); });
    loop.post([&] {
        loop.post([&] { ran.push_back(3); });
        throw std::runtime_error("2");
    });
    CHECK(loop.posted() == 2);
    loop.run_one();
    CHECK_THROWS(loop.run_one());
    CHECK(loop.posted() == 1);
    loop.run_one();
    loop.run_one();  // nothing is left
    CHECK(ran == std::vector{1, 3});
}

TEST_CASE("a wait ends at its time, not before, and at once if a call or an interrupt waits") {
    io::EventLoop loop;
    const Instant until = monotonic_now() + 5ms;
    CHECK_FALSE(loop.wait(-1, {}, until).readable);
    CHECK(monotonic_now() >= until);
    loop.post([] {});
    static_cast<void>(loop.wait(-1, {}, std::nullopt));
    loop.run_one();
    loop.interrupt();
    static_cast<void>(loop.wait(-1, {}, std::nullopt));
    CHECK(loop.take_interrupt());
    CHECK_FALSE(loop.take_interrupt());
}

TEST_CASE("another thread wakes a loop that waits without limit, by a call or an interrupt") {
    io::EventLoop loop;
    for (int round = 0; round < 50; ++round) {
        std::thread other([&] {
            if (round % 3 != 0) std::this_thread::sleep_for(1ms);
            if (round % 2 == 0) return loop.interrupt();
            loop.post([] {});
        });
        while (loop.posted() == 0 && !loop.take_interrupt()) static_cast<void>(loop.wait(-1, {}, std::nullopt));
        other.join();
        loop.run_one();
    }
    CHECK(loop.posted() == 0);
}

TEST_CASE("a wait reports only wanted directions of the socket, and an error of it in all of these") {
    io::EventLoop loop;
    Pair pair;
    const auto soon = [] { return monotonic_now() + 1ms; };
    auto ready = loop.wait(pair.near.get(), kBoth, soon());
    CHECK_FALSE(ready.readable);
    CHECK(ready.writable);
    REQUIRE(::send(pair.far.get(), "x", 1, 0) == 1);
    ready = loop.wait(pair.near.get(), {.readable = true}, std::nullopt);
    CHECK(ready.readable);
    CHECK_FALSE(ready.writable);
    ready = loop.wait(pair.near.get(), {}, soon());
    CHECK_FALSE(ready.readable);

    Pair broken;
    broken.far.reset();
    ready = loop.wait(broken.near.get(), {.readable = true}, std::nullopt);
    CHECK(ready.readable);
}

TEST_CASE("a loop that ends drops its calls, also those that are posted by what it drops") {
    struct Posts {
        Posts(io::EventLoop& on, std::shared_ptr<int> count) : loop(on), counted(std::move(count)) {}
        io::EventLoop& loop;
        std::shared_ptr<int> counted;
        ~Posts() {
            loop.post([kept = counted] {});
        }
    };
    const auto counted = std::make_shared<int>();
    {
        io::EventLoop loop;
        const auto posts = std::make_shared<Posts>(loop, counted);
        loop.post([posts] {});
    }
    CHECK(counted.use_count() == 1);
}
