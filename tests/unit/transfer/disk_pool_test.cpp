#include "transfer/disk_pool.hpp"

#include <sys/resource.h>

#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "test/catch.hpp"
#include "transfer/bounded_queue.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace std::chrono_literals;

namespace {

DiskStep never_fails(const Error& error) { throw std::logic_error("unexpected: " + error.message); }

/// Waits until the condition holds; a busy machine may take long.
template <class Condition>
bool soon(Condition&& holds) {
    for (int i = 0; i < 20000; ++i) {
        if (holds()) return true;
        std::this_thread::sleep_for(1ms);
    }
    return false;
}

}  // namespace

TEST_CASE("thousands of tasks that rest need one thread") {
    DiskPool pool;
    REQUIRE(pool.threads() == 1);
    std::atomic<int> steps{0};
    std::vector<std::unique_ptr<DiskTask>> tasks;
    for (int i = 0; i < 3000; ++i) {
        tasks.push_back(std::make_unique<DiskTask>(
            pool,
            [&] {
                ++steps;
                return DiskStep::rest();
            },
            never_fails));
    }
    for (const auto& task : tasks) task->wake();
    CHECK(soon([&] { return steps == 3000; }));
    tasks[5]->wake();
    CHECK(soon([&] { return steps == 3001; }));
}

TEST_CASE("a task that always goes on lets the others have their turn") {
    DiskPool pool;
    std::atomic<int> busy{0};
    std::atomic<bool> other{false};
    DiskTask greedy(
        pool,
        [&] {
            ++busy;
            return DiskStep::again();
        },
        never_fails);
    DiskTask modest(
        pool,
        [&] {
            other = true;
            return DiskStep::over();
        },
        never_fails);
    greedy.wake();
    REQUIRE(soon([&] { return busy > 10; }));
    modest.wake();
    CHECK(soon([&] { return other.load(); }));
}

TEST_CASE("steps that do not end, of a disk that hangs, leave a thread to the others") {
    DiskPool pool;
    pool.grow(2);
    std::promise<void> disk;
    const auto answered = disk.get_future().share();
    std::atomic<int> hanging{0};
    std::vector<std::unique_ptr<DiskTask>> hung;
    for (int i = 0; i < 2; ++i) {
        hung.push_back(std::make_unique<DiskTask>(
            pool,
            [&, answered] {
                ++hanging;
                answered.wait();
                return DiskStep::over();
            },
            never_fails));
        hung.back()->wake();
    }
    REQUIRE(soon([&] { return hanging == 2; }));
    pool.relieve(3, 0ms);
    CHECK(pool.threads() == 2);  // no task waits for a thread
    std::atomic<bool> other{false};
    DiskTask task(
        pool,
        [&] {
            other = true;
            return DiskStep::over();
        },
        never_fails);
    task.wake();
    pool.relieve(3, 1h);
    CHECK(pool.threads() == 2);
    CHECK(soon([&] {
        pool.relieve(3, 1ms);
        return other.load();
    }));
    CHECK(pool.threads() == 3);
    disk.set_value();
}

TEST_CASE("several servers of a process look after its threads at a time") {
    DiskPool pool;
    std::promise<void> disk;
    const auto answered = disk.get_future().share();
    const auto hang = [answered] {
        answered.wait();
        return DiskStep::over();
    };
    std::vector<std::unique_ptr<DiskTask>> hung;
    for (int i = 0; i < 16; ++i) {
        hung.push_back(std::make_unique<DiskTask>(pool, hang, never_fails));
        hung.back()->wake();
    }
    std::vector<std::thread> servers;
    for (int i = 0; i < 4; ++i) {
        servers.emplace_back([&] {
            while (pool.threads() < 8) pool.relieve(8, 0ms);
        });
    }
    for (std::thread& server : servers) server.join();
    CHECK(pool.threads() == 8);
    disk.set_value();
}

TEST_CASE("no step of a task begins while another one runs, and no wake is lost") {
    DiskPool pool;
    pool.grow(4);
    std::atomic<int> inside{0};
    std::atomic<bool> met{false};
    BoundedQueue<int> queue(100);
    std::atomic<int> sum{0};
    DiskTask task(
        pool,
        [&] {
            if (++inside > 1) met = true;
            while (const auto next = queue.try_pop()) sum += *next;
            --inside;
            return DiskStep::rest();
        },
        never_fails);
    queue.call([&] { task.wake(); }, nullptr);
    const auto push = [&] {
        for (int i = 0; i < 20000; ++i) queue.push(1, 1);
    };
    auto other = std::async(std::launch::async, push);
    push();
    other.get();
    CHECK(soon([&] { return sum == 40000; }));
    CHECK_FALSE(met);
}

TEST_CASE("a wake while a step runs brings another step") {
    DiskPool pool;
    pool.grow(2);
    std::atomic<int> steps{0};
    std::promise<void> begun;
    std::promise<void> woken;
    DiskTask task(
        pool,
        [&] {
            if (++steps == 1) {
                begun.set_value();
                woken.get_future().wait();
            }
            return DiskStep::rest();
        },
        never_fails);
    task.wake();
    begun.get_future().wait();
    task.wake();
    woken.set_value();
    CHECK(soon([&] { return steps == 2; }));
}

TEST_CASE("a task may rest for a time, and be woken before") {
    DiskPool pool;
    std::atomic<int> steps{0};
    DiskTask timed(
        pool,
        [&] {
            ++steps;
            return steps < 3 ? DiskStep::rest_for(5ms) : DiskStep::rest_for(1h);
        },
        never_fails);
    timed.wake();
    CHECK(soon([&] { return steps == 3; }));
    timed.wake();
    CHECK(soon([&] { return steps == 4; }));
}

TEST_CASE("what a step throws is told to its task, and leaves the thread alone") {
    DiskPool pool;
    std::atomic<int> told{0};
    std::string said;
    ErrorCode code{};
    const auto failed = [&](const Error& error) {
        said = error.message;
        code = error.code;
        ++told;
        return DiskStep::over();
    };
    DiskTask memory(
        pool, []() -> DiskStep { throw std::bad_alloc(); }, failed);
    memory.wake();
    REQUIRE(soon([&] { return told == 1; }));
    CHECK(said == "out of memory");
    CHECK(code == ErrorCode::no_resources);  // a shortage, not an error of the program
    DiskTask runtime(
        pool, []() -> DiskStep { throw std::runtime_error("this"); }, failed);
    runtime.wake();
    REQUIRE(soon([&] { return told == 2; }));
    CHECK(said == "this");
    memory.wake();  // the task is over, so this does nothing
    DiskTask last(
        pool,
        [&] {
            ++told;
            return DiskStep::over();
        },
        failed);
    last.wake();
    CHECK(soon([&] { return told == 3; }));
}

TEST_CASE("the end of a task waits for its step and for no other") {
    DiskPool pool;
    pool.grow(2);
    std::promise<void> go;
    const std::shared_future<void> may_go = go.get_future().share();
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    DiskTask stuck(
        pool,
        [&] {
            begun = true;
            may_go.wait();
            ended = true;
            return DiskStep::again();
        },
        never_fails);
    stuck.wake();
    REQUIRE(soon([&] { return begun.load(); }));
    {
        std::atomic<int> steps{0};
        DiskTask other(
            pool,
            [&] {
                ++steps;
                return DiskStep::again();
            },
            never_fails);
        other.wake();
        REQUIRE(soon([&] { return steps > 0; }));
    }
    CHECK_FALSE(ended);
    auto release = std::async(std::launch::async, [&] { go.set_value(); });
    stuck.end();
    CHECK(ended);
}

TEST_CASE("a queue tells its ends when it is filled, has room again, and is closed") {
    BoundedQueue<int> queue(10);
    int filled = 0;
    int room = 0;
    queue.call([&] { ++filled; }, [&] { ++room; });
    CHECK(queue.push(1, 6));
    CHECK(queue.push(2, 6));
    CHECK(filled == 1);
    CHECK(queue.full());
    CHECK(*queue.try_pop() == 1);
    CHECK(room == 1);
    CHECK_FALSE(queue.full());
    queue.close();
    CHECK(filled == 2);
    CHECK_FALSE(queue.over());
    CHECK_FALSE(queue.push(3, 1));
    CHECK(*queue.try_pop() == 2);
    CHECK(queue.over());
    CHECK_FALSE(queue.try_pop());
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UDTX_TEST_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UDTX_TEST_SANITIZED
#endif
#endif
#ifndef UDTX_TEST_SANITIZED  // memory of a sanitizer has no limit
TEST_CASE("what a step throws may take more memory to tell of than there is") {
    static const std::string words(64U << 20U, 'x');
    struct Thrown : std::exception {
        [[nodiscard]] const char* what() const noexcept override { return words.c_str(); }
    };
    DiskPool pool;
    std::promise<Error> told;
    DiskTask task(
        pool, []() -> DiskStep { throw Thrown(); },
        [&](Error error) {
            told.set_value(std::move(error));
            return DiskStep::over();
        });
    auto answer = told.get_future();
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
    const rlimit low{1U << 20U, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_AS, &low) == 0);
    task.wake();
    answer.wait();
    REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(answer.get().message == "out of memory");
}
#endif
