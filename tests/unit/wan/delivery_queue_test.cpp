#include "delivery_queue.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::wan::DeliveryQueue;

TEST_CASE("delivery queue: by time, equal times in order of their coming") {
    DeliveryQueue<int> queue;
    const Instant zero{};
    CHECK(queue.next() == Instant::max());
    CHECK_FALSE(queue.pop_due(Instant::max()).has_value());
    queue.push(zero + 3ms, 30);
    for (int i = 0; i < 5; ++i) queue.push(zero + 1ms, i);
    queue.push(zero + 2ms, 20);
    CHECK(queue.next() == zero + 1ms);
    CHECK_FALSE(queue.pop_due(zero + 1ms - 1ns).has_value());
    for (const int expected : {0, 1, 2, 3, 4, 20, 30}) {
        const auto item = queue.pop_due(zero + 3ms);
        REQUIRE(item.has_value());
        CHECK(item->packet == expected);
    }
    CHECK_FALSE(queue.pop_due(zero + 1s).has_value());
}
