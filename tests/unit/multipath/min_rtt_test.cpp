#include "multipath/schedulers.hpp"

#include <array>

#include "test/catch.hpp"
#include "unit/multipath/views.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::PathId;
using udtx::StreamKind;
using udtx::multipath::MinRtt;
using udtx::multipath::test::demand;
using udtx::multipath::test::view;

TEST_CASE("minrtt takes the lowest RTT that may send") {
    MinRtt scheduler;
    auto d = demand(StreamKind::ordered);
    d.next = 7000;
    std::array paths{view(0, 100, 50ms), view(1, 100, 10ms), view(2, 100, 30ms)};
    auto pick = scheduler.pick(Instant{}, d, paths);
    REQUIRE(pick);
    CHECK(pick->path == PathId{1});
    CHECK(pick->from == 7000);
    CHECK_FALSE(pick->duplicate);
    paths[1].may_send = false;
    CHECK(scheduler.pick(Instant{}, d, paths)->path == PathId{2});
    paths[2].may_send = false;
    paths[0].may_send = false;
    CHECK_FALSE(scheduler.pick(Instant{}, d, paths));
}

TEST_CASE("minrtt uses a standby path only when no other is usable") {
    MinRtt scheduler;
    const auto d = demand(StreamKind::unordered);
    std::array paths{view(0, 100, 50ms), view(1, 100, 10ms)};
    paths[1].standby = true;
    CHECK(scheduler.pick(Instant{}, d, paths)->path == PathId{0});
    paths[0].may_send = false;  // a busy path is still usable
    CHECK_FALSE(scheduler.pick(Instant{}, d, paths));
    paths[0].usable = false;
    CHECK(scheduler.pick(Instant{}, d, paths)->path == PathId{1});
}
