#include "multipath/schedulers.hpp"

#include <array>
#include <vector>

#include "test/catch.hpp"
#include "unit/multipath/views.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::PathView;
using udtx::StreamKind;
using udtx::multipath::RoundRobin;
using udtx::multipath::test::demand;
using udtx::multipath::test::view;

namespace {

std::vector<int> serve(RoundRobin& scheduler, std::span<const PathView> paths, int datagrams) {
    std::vector<int> order;
    for (int i = 0; i < datagrams; ++i) {
        const auto pick = scheduler.pick(Instant{}, demand(StreamKind::ordered), paths);
        REQUIRE(pick);
        scheduler.on_sent(Instant{}, *pick, paths[0].datagram_bytes);
        order.push_back(pick->path.value);
    }
    return order;
}

}  // namespace

TEST_CASE("rr serves slow paths one datagram each in turn, and skips those without room") {
    RoundRobin scheduler;
    std::array paths{view(0, 10, 10ms), view(1, 10, 90ms), view(4, 10, 10ms)};
    CHECK(serve(scheduler, paths, 5) == std::vector<int>{0, 1, 4, 0, 1});
    paths[2].may_send = false;
    CHECK(serve(scheduler, paths, 3) == std::vector<int>{0, 1, 0});
}

TEST_CASE("a turn of rr is as long as a pacer's burst") {
    RoundRobin scheduler;
    // 250 us at 200 Mbit/s are 6,250 bytes, which the fifth datagram of 1,400 exceeds.
    const std::array paths{view(0, 200, 10ms), view(1, 200, 10ms)};
    CHECK(serve(scheduler, paths, 11) == std::vector<int>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0});
}
