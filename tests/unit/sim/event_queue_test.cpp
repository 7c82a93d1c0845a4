#include "sim/event_queue.hpp"

#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::sim::EventQueue;
using udtx::sim::kStart;

TEST_CASE("events come by time, equal times in the order of scheduling") {
    EventQueue q;
    std::vector<int> seen;
    q.call_at(kStart + 2s, [&] { seen.push_back(3); });
    q.call_at(kStart + 1s, [&] { seen.push_back(1); });
    q.call_at(kStart + 1s, [&] { seen.push_back(2); });
    q.run_until(kStart + 3s);
    CHECK(seen == std::vector<int>{1, 2, 3});
    CHECK(q.now() == kStart + 3s);
    CHECK(q.processed() == 3);
    CHECK_FALSE(q.step());
}

TEST_CASE("an event may schedule others, and the past counts as now") {
    EventQueue q;
    std::vector<udtx::Duration> seen;
    q.call_at(kStart + 5s, [&] {
        q.call_at(kStart + 1s, [&] { seen.push_back(q.now() - kStart); });
        q.call_at(kStart + 6s, [&] { seen.push_back(q.now() - kStart); });
    });
    q.run_until(kStart + 5s);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0] == 5s);
    CHECK(q.next() == kStart + 6s);
    q.run_until(kStart + 10s);
    CHECK(seen.size() == 2);
}
