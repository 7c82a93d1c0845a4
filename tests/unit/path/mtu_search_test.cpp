#include "path/mtu_search.hpp"

#include <algorithm>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using udtx::Instant;
using udtx::path::MtuSearch;

namespace {

/// Runs the search on a path that passes datagrams of up to `limit` bytes; returns the number of probes.
int search(MtuSearch& s, Instant now, std::uint32_t limit) {
    int probes = 0;
    while (const auto size = s.probe_due(now)) {
        ++probes;
        REQUIRE(probes < 100);
        REQUIRE(*size > s.current());
        s.on_probe_sent();
        REQUIRE_FALSE(s.probe_due(now));
        if (*size <= limit) {
            s.on_probe_acked(now, *size);
        } else {
            s.on_probe_lost(now, *size);
        }
    }
    return probes;
}

}  // namespace

TEST_CASE("the search ends within 16 bytes of what the path takes") {
    for (const std::uint32_t limit :
         {1200U, 1210U, 1280U, 1392U, 1412U, 1452U, 1472U, 1500U, 4000U, 8972U, 9000U, 65000U}) {
        MtuSearch s(1200, 65000);
        const int probes = search(s, Instant{}, limit);
        INFO("limit " << limit << " probes " << probes << " found " << s.current());
        CHECK(s.current() <= limit);
        CHECK(s.current() + 16 > std::min(limit, 65000U));
        CHECK(probes <= 50);
    }
}

TEST_CASE("one lost probe is not the path's last word") {
    MtuSearch s(1200, 1472);
    const auto size = s.probe_due(Instant{});
    REQUIRE(size);
    s.on_probe_sent();
    s.on_probe_lost(Instant{}, *size);
    CHECK(s.probe_due(Instant{}) == size);
}

namespace {

/// Loses `count` packets of this size, `apart` from each other, starting with number `first`.
void lose(MtuSearch& s, udtx::PacketNumber first, int count, std::uint32_t size, udtx::Duration apart) {
    for (int i = 0; i < count; ++i) s.on_lost(Instant{i * apart}, first + static_cast<unsigned>(i), size, 100ms);
}

MtuSearch found(std::uint32_t limit) {
    MtuSearch s(1200, 9000);
    search(s, Instant{}, limit);
    REQUIRE(s.current() == limit);
    return s;
}

}  // namespace

TEST_CASE("large packets lost over more than the patience are a black hole; the old size is asked for first") {
    MtuSearch s = found(9000);
    lose(s, 10, 3, 9000, 60ms);
    CHECK(s.current() == 1200);
    CHECK(s.probe_due(Instant{1s}) == 9000U);
    search(s, Instant{1s}, 1280);
    CHECK(s.current() <= 1280);
    CHECK(s.current() > 1264);
}

TEST_CASE("a black hole that was none costs one probe") {
    MtuSearch s = found(9000);
    lose(s, 10, 3, 9000, 60ms);
    CHECK(search(s, Instant{1s}, 9000) == 1);
    CHECK(s.current() == 9000);
}

TEST_CASE("one flight lost, small packets lost, and losses older than what arrived are no black hole") {
    MtuSearch s = found(9000);
    lose(s, 10, 50, 9000, 1ms);
    CHECK(s.current() == 9000);
    s.on_acked(Instant{}, 100, 9000);
    lose(s, 60, 40, 9000, 60ms);
    CHECK(s.current() == 9000);
    lose(s, 101, 50, 1200, 60ms);
    CHECK(s.current() == 9000);
}

TEST_CASE("a large packet that was only late takes the size back at once") {
    MtuSearch s = found(9000);
    lose(s, 10, 3, 9000, 60ms);
    REQUIRE(s.current() == 1200);
    s.on_acked(Instant{1s}, 11, 9000);
    CHECK(s.current() == 9000);
    CHECK_FALSE(s.probe_due(Instant{1s}));
}

TEST_CASE("another path starts anew") {
    MtuSearch s = found(9000);
    s.restart();
    CHECK(s.current() == 1200);
    CHECK(search(s, Instant{}, 1472) > 0);
    CHECK(s.current() > 1456);
}

TEST_CASE("a searched path is asked again after ten minutes") {
    MtuSearch s(1200, 9000);
    search(s, Instant{}, 1472);
    CHECK(s.current() >= 1457);
    CHECK_FALSE(s.probe_due(Instant{9min}));
    REQUIRE(s.probe_due(Instant{10min}));
    search(s, Instant{10min}, 8952);
    CHECK(s.current() > 8936);
}

TEST_CASE("a size that the interface refuses is never used") {
    MtuSearch s(1200, 65000);
    s.on_probe_sent();
    s.on_too_large(Instant{}, 1472);
    search(s, Instant{}, 65000);
    CHECK(s.current() < 1472);
}

TEST_CASE("an interface that refuses the usual minimum leads to 548 bytes, and the search goes up from there") {
    MtuSearch s(1200, 9000);
    s.on_too_large(Instant{}, 1200);
    CHECK(s.current() == 548);
    CHECK(s.minimum() == 548);
    search(s, Instant{}, 1192);
    CHECK(s.current() <= 1192);
    CHECK(s.current() > 1176);
    s.on_too_large(Instant{}, 548);  // nothing smaller is ever sent
    CHECK(s.minimum() == 548);
}

TEST_CASE("a size that is to be verified is asked for first") {
    MtuSearch s = found(9000);
    const auto before = s.current();
    s.verify();
    CHECK(s.current() == 1200);
    CHECK(s.probe_due(Instant{}) == before);
    s.on_probe_sent();
    s.on_probe_acked(Instant{}, before);
    CHECK(s.current() == before);
}

TEST_CASE("a path that is thought to be narrow counts as usual once it carries the usual size") {
    MtuSearch s(1200, 1472, true);
    CHECK(s.current() == MtuSearch::kLeast);
    CHECK(s.probe_due(Instant{}) == 1200);
    s.on_probe_sent();
    s.on_probe_acked(Instant{}, 1200);
    CHECK(s.minimum() == 1200);
    search(s, Instant{}, 1452);
    CHECK(s.current() == 1452);
    s.verify();
    CHECK(s.current() == 1200);
}

TEST_CASE("a narrow path stays below the usual size") {
    MtuSearch s(1200, 1472, true);
    search(s, Instant{}, 1000);
    CHECK(s.current() <= 1000);
    CHECK(s.current() + 16 > 1000);
    CHECK(s.minimum() == MtuSearch::kLeast);
}

namespace {

/// Follows what ICMP says of a path that carries `limit`, if a packet is larger. Returns the probes.
int search_told(MtuSearch& s, Instant now, std::uint32_t limit) {
    int probes = 0;
    while (const auto size = s.probe_due(now)) {
        REQUIRE(++probes < 100);
        s.on_probe_sent();
        if (*size > limit) {
            s.on_told(limit);
            s.on_probe_lost(now, *size);
        } else {
            s.on_probe_acked(now, *size);
        }
    }
    return probes;
}

}  // namespace

TEST_CASE("what ICMP says of the size shortens the search, and probes confirm it") {
    for (const std::uint32_t limit : {1252U, 1392U, 1400U, 1472U, 4000U, 8972U}) {
        MtuSearch s(1200, 65000);
        MtuSearch untold(1200, 65000);
        const int probes = search_told(s, Instant{}, limit);
        INFO("limit " << limit << " probes " << probes);
        CHECK(s.current() == limit);
        CHECK(probes < search(untold, Instant{}, limit));
    }
}

TEST_CASE("a path that becomes narrower, as ICMP says, is left after one lost probe of the old size") {
    for (const std::uint32_t limit : {548U, 972U, 1192U, 1380U, 4000U}) {
        INFO("limit " << limit);
        MtuSearch s = found(8952);
        s.on_told(limit);
        CHECK(s.probe_due(Instant{}) == 8952);
        CHECK(s.current() == 8952);
        s.on_probe_sent();
        s.on_probe_lost(Instant{}, 8952);
        CHECK(s.current() <= limit);
        search_told(s, Instant{}, limit);
        CHECK(s.current() == limit);
    }
}

TEST_CASE("forged ICMP costs one probe, and leads to no smaller size") {
    for (const std::uint32_t lie : {1U, 548U, 1300U, 8000U}) {
        MtuSearch s = found(8952);
        const MtuSearch before = s;
        s.on_told(lie);
        const auto probe = s.probe_due(Instant{});
        CHECK(probe == 8952);
        s.on_probe_sent();
        CHECK(s.current() == 8952);
        s.on_probe_acked(Instant{}, 8952);
        CHECK(s.current() == before.current());
        CHECK(s.minimum() == before.minimum());
        CHECK_FALSE(s.probe_due(Instant{1s}));
    }
    // A lie about a size that was not found yet only changes the order of the probes.
    for (const std::uint32_t lie : {1300U, 1450U}) {
        MtuSearch s(1200, 65000);
        s.on_told(lie);
        search(s, Instant{}, 8972);
        CHECK(s.current() + 16 > 8972);
        CHECK(s.current() <= 8972);
    }
    MtuSearch s = found(8952);
    s.on_told(70'000);
    CHECK_FALSE(s.probe_due(Instant{1s}));
}
