#include "multipath/schedulers.hpp"

#include <array>

#include "test/catch.hpp"
#include "unit/multipath/views.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::PathId;
using udtx::PathPick;
using udtx::StreamKind;
using udtx::multipath::Dapb;
using udtx::multipath::test::demand;
using udtx::multipath::test::view;

namespace {

struct Rig {
    Dapb scheduler;
    std::array<udtx::PathView, 2> paths{view(0, 10, 10ms), view(1, 10, 10ms)};

    PathPick next() {
        const auto pick = scheduler.pick(Instant{}, demand(StreamKind::ordered), paths);
        REQUIRE(pick);
        scheduler.on_sent(Instant{}, *pick, udtx::multipath::test::kDatagram);
        return *pick;
    }
};

}  // namespace

TEST_CASE("dapb blocks a path beyond max(3 x min sRTT, 50 ms)") {
    Rig rig;
    (void)rig.next();
    rig.paths[1].smoothed_rtt = 49ms;  // more than three times the other's RTT, but below the initial threshold
    (void)rig.next();
    CHECK_FALSE(rig.scheduler.blocked(PathId{1}));
    rig.paths[1].smoothed_rtt = 51ms;
    (void)rig.next();
    CHECK(rig.scheduler.blocked(PathId{1}));
    CHECK_FALSE(rig.scheduler.blocked(PathId{0}));

    Rig far;
    far.paths[0].smoothed_rtt = 40ms;
    far.paths[1].smoothed_rtt = 119ms;
    (void)far.next();
    CHECK_FALSE(far.scheduler.blocked(PathId{1}));
    far.paths[1].smoothed_rtt = 121ms;
    (void)far.next();
    CHECK(far.scheduler.blocked(PathId{1}));
}

TEST_CASE("a blocked path carries one duplicate a window, of what another was given since") {
    Rig rig;
    rig.paths[1].smoothed_rtt = 200ms;
    CHECK(rig.next().path == PathId{0});
    const PathPick probe = rig.next();
    CHECK(probe.path == PathId{1});
    CHECK(probe.duplicate);
    // No new data since then: no duplicate, whatever the window allows. A duplicate in flight also prevents the next.
    CHECK(rig.next().path == PathId{0});
    rig.paths[1].in_flight = udtx::multipath::test::kDatagram;
    for (int i = 0; i < 5; ++i) CHECK(rig.next().path == PathId{0});
    rig.paths[1].in_flight = 0;
    CHECK(rig.next().duplicate);
}

TEST_CASE("dapb releases at half the threshold, or near the path's own base RTT where that is larger") {
    Rig rig;
    rig.paths[1].smoothed_rtt = 60ms;
    (void)rig.next();
    rig.paths[1].smoothed_rtt = 26ms;
    (void)rig.next();
    CHECK(rig.scheduler.blocked(PathId{1}));
    rig.paths[1].smoothed_rtt = 24ms;
    (void)rig.next();
    CHECK_FALSE(rig.scheduler.blocked(PathId{1}));

    Rig own;  // 40 ms beside 20 ms: half of the threshold of 60 ms is unreachable
    own.paths[0] = view(0, 10, 20ms);
    own.paths[1] = view(1, 10, 40ms);
    own.paths[1].smoothed_rtt = 70ms;
    (void)own.next();
    CHECK(own.scheduler.blocked(PathId{1}));
    own.paths[1].smoothed_rtt = 49ms;  // 1.25 x 40 = 50
    (void)own.next();
    CHECK_FALSE(own.scheduler.blocked(PathId{1}));

    Rig far;  // with a base RTT above the threshold the path stays blocked and does not oscillate
    far.paths[1] = view(1, 10, 200ms);
    for (int i = 0; i < 10; ++i) {
        (void)far.next();
        CHECK(far.scheduler.blocked(PathId{1}));
    }
}
