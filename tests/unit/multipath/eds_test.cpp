#include "multipath/schedulers.hpp"

#include <array>
#include <vector>

#include "test/catch.hpp"
#include "unit/multipath/views.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::PathId;
using udtx::PathPick;
using udtx::Range;
using udtx::StreamKind;
using udtx::multipath::Eds;
using udtx::multipath::forecast;
using udtx::multipath::test::demand;
using udtx::multipath::test::kDatagram;
using udtx::multipath::test::view;

namespace {
const Instant kNow{1h};
}

TEST_CASE("the forecast is queue, line time and one way") {
    auto path = view(0, 11.2, 10ms);  // one datagram per millisecond
    path.departure = kNow;
    auto f = forecast(kNow, path);
    CHECK(f.delay == Approx(0.005));
    CHECK(f.eta == Approx(0.001 + 0.005));
    path.smoothed_rtt = 20ms;  // the extra round-trip time is counted as a queue in the forward direction
    CHECK(forecast(kNow, path).delay == Approx(0.015));
    path.departure = kNow + 3ms;
    CHECK(forecast(kNow, path).eta == Approx(0.003 + 0.001 + 0.015));
    path.in_flight = path.window + 4 * kDatagram;  // five datagrams must be acknowledged first
    CHECK(forecast(kNow, path).eta == Approx(0.005 + 0.001 + 0.015));
    path.smoothed_rtt = 100ms;  // bloated: the rate is one window per round trip
    CHECK(forecast(kNow, path).rate == Approx(static_cast<double>(path.window) / 0.1));
}

TEST_CASE("ordered: a slower path is given what it can deliver in time") {
    Eds scheduler;
    auto d = demand(StreamKind::ordered, 1U << 20U);
    std::array paths{view(0, 100, 10ms), view(1, 100, 50ms)};
    CHECK(scheduler.pick(kNow, d, paths)->path == PathId{0});
    paths[0].may_send = false;
    const auto pick = scheduler.pick(kNow, d, paths);
    REQUIRE(pick);
    CHECK(pick->path == PathId{1});
    // The path delivers 20 ms later than the other, which runs at 12.5 MB/s: 250,000 bytes. That is rounded up so that
    // the holes are at most a 32nd of it.
    CHECK(pick->from == 36 * 5 * kDatagram);

    const std::array ahead{Range{240'000, 251'400}};  // assigned before
    d.ahead = ahead;
    d.ahead_bytes = 11'400;
    CHECK(scheduler.pick(kNow, d, paths)->from ==
          251'400 + 2 * 5 * kDatagram);  // what others were given does not fill the gap
}

TEST_CASE("ordered: no path waits for what a path would deliver that falls silent again and again") {
    for (const bool end_known : {false, true}) {
        Eds scheduler;
        std::array paths{view(0, 10, 50ms), view(1, 100, 1ms)};
        paths[1].unsteady = true;
        paths[1].in_flight = kDatagram;  // a probe is in flight
        auto d = demand(StreamKind::ordered, 1U << 20U);
        d.written = 100;  // the faster path could deliver them first
        d.remaining = 100;
        d.end_known = end_known;
        const auto pick = scheduler.pick(kNow, d, paths);
        REQUIRE(pick);
        CHECK(pick->path == PathId{0});
        CHECK_FALSE(pick->duplicate);
        CHECK(pick->from == 0);
    }
}

TEST_CASE("ordered: the fastest path fills the first hole, however many there are") {
    Eds scheduler;
    auto d = demand(StreamKind::ordered, 64U << 20U);
    std::vector<Range> ahead;
    for (std::uint64_t i = 1; i <= 1000; ++i) ahead.push_back({i * 10 * kDatagram, (i * 10 + 1) * kDatagram});
    d.ahead = ahead;
    d.ahead_bytes = 1000 * kDatagram;
    std::array paths{view(0, 100, 10ms), view(1, 100, 12ms)};
    CHECK(scheduler.pick(kNow, d, paths)->from == d.next);
    // The path delivers 1 ms later than the other: it starts after 12,500 bytes, which end in the second hole.
    paths[0].may_send = false;
    const auto pick = scheduler.pick(kNow, d, paths);
    REQUIRE(pick);
    CHECK(pick->from >= 11 * kDatagram);
    CHECK(pick->from < 21 * kDatagram);
}

TEST_CASE("ordered: nothing that the receiver could not hold, nothing beyond what is written") {
    Eds scheduler;
    auto d = demand(StreamKind::ordered, 250'000);
    std::array paths{view(0, 100, 10ms), view(1, 100, 50ms)};
    paths[0].may_send = false;
    paths[1].in_flight = kDatagram;  // prevents a probe
    CHECK_FALSE(scheduler.pick(kNow, d, paths));
    CHECK(scheduler.blocked(PathId{1}));
    d = demand(StreamKind::ordered, 1U << 20U);
    d.written = 100'000;
    CHECK_FALSE(scheduler.pick(kNow, d, paths));
    d.written = 1U << 20U;
    CHECK(scheduler.pick(kNow, d, paths));
    CHECK_FALSE(scheduler.blocked(PathId{1}));
}

TEST_CASE("unordered: any path that helps, the late one not for the tail") {
    Eds scheduler;
    auto d = demand(StreamKind::unordered);
    std::array paths{view(0, 100, 10ms), view(1, 20, 500ms)};
    paths[0].may_send = false;
    CHECK(scheduler.pick(kNow, d, paths)->path == PathId{1});
    CHECK(scheduler.pick(kNow, d, paths)->from == d.next);
    // T_-1 = R / 12.5 MB/s + 5 ms; eta_1 = 250.56 ms. The path helps only if eta_1 is smaller.
    d.end_known = true;
    d.remaining = 3'080'000;
    CHECK(scheduler.pick(kNow, d, paths)->path == PathId{1});
    d.remaining = 3'060'000;
    paths[1].in_flight = kDatagram;
    CHECK_FALSE(scheduler.pick(kNow, d, paths));
}

TEST_CASE("unordered: the last bytes, less than a datagram, are left to nobody else by both of two paths") {
    Eds scheduler;
    auto d = demand(StreamKind::unordered);
    d.end_known = true;
    for (const std::uint32_t remaining : {1U, kDatagram / 2, kDatagram - 1}) {
        d.remaining = remaining;
        std::array paths{view(0, 6, 10ms), view(1, 6, 10ms)};
        for (auto& path : paths) path.in_flight = kDatagram;  // an idle path would be probed
        CHECK(scheduler.pick(kNow, d, paths));
        paths[0].smoothed_rtt = 11ms;
        const auto pick = scheduler.pick(kNow, d, paths);
        REQUIRE(pick);
        CHECK(pick->path == PathId{1});
    }
}

TEST_CASE("a path that is left out is measured by one duplicate each round trip of the fastest") {
    Eds scheduler;
    auto d = demand(StreamKind::ordered, 250'000);
    std::array paths{view(0, 100, 30ms), view(1, 100, 90ms)};
    Instant now = kNow;
    std::optional<PathPick> pick;
    int probes = 0;
    for (int ms = 0; ms < 300; ++ms, now += 1ms) {
        pick = scheduler.pick(now, d, paths);
        REQUIRE(pick);
        probes += pick->duplicate ? 1 : 0;
        CHECK(pick->path == PathId{pick->duplicate ? std::uint8_t{1} : std::uint8_t{0}});
        scheduler.on_sent(now, *pick, kDatagram);
    }
    CHECK(probes == 10);
}

TEST_CASE("lost bytes do not go where the window would fill before they arrive") {
    Eds scheduler;
    auto d = demand(StreamKind::ordered, 200'000);
    d.again = true;
    std::array paths{view(0, 100, 10ms), view(1, 100, 50ms)};
    paths[0].may_send = false;
    paths[1].in_flight = kDatagram;
    CHECK_FALSE(scheduler.pick(kNow, d, paths));
    d.receive_window = d.limit = 1U << 20U;
    CHECK(scheduler.pick(kNow, d, paths)->path == PathId{1});
}
