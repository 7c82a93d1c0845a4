#include "stream/recv_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "test/catch.hpp"

using udtx::ErrorCode;
using udtx::StreamKind;
using udtx::stream::RecvStream;

namespace {
const RecvStream::Place kNowhere = [](std::uint64_t, std::span<const std::byte>) {};
std::vector<std::byte> some(std::size_t n) { return std::vector<std::byte>(n, std::byte{5}); }
}  // namespace

TEST_CASE("unordered pieces are handed over once, whatever overlaps") {
    RecvStream s(StreamKind::unordered, 1000);
    std::vector<int> seen(100, 0);
    const RecvStream::Place place = [&](std::uint64_t offset, std::span<const std::byte> b) {
        for (std::size_t i = 0; i < b.size(); ++i) ++seen[offset + i];
    };
    CHECK(*s.on_data(40, some(20), false, place) == 60);
    CHECK(*s.on_data(30, some(40), false, place) == 10);
    CHECK(*s.on_data(0, some(50), false, place) == 0);
    CHECK(*s.on_data(70, some(30), true, place) == 30);
    CHECK(seen == std::vector<int>(100, 1));
    CHECK(s.complete());
    CHECK_FALSE(s.over());
    s.release(100);
    CHECK(s.over());
}

TEST_CASE("credit is given in sixteenths of the window and never beyond the end") {
    RecvStream s(StreamKind::ordered, 1000);
    CHECK_FALSE(s.limit_due());
    REQUIRE(s.on_data(0, some(61), false, kNowhere));
    std::vector<std::byte> out(1000);
    CHECK(s.read(out) == 61);
    CHECK_FALSE(s.limit_due());
    REQUIRE(s.on_data(61, some(1), false, kNowhere));
    CHECK(s.read(out) == 1);
    CHECK(s.limit_due());
    CHECK(s.advertise() == 1062);
    CHECK_FALSE(s.limit_due());
    REQUIRE(s.on_data(62, some(500), true, kNowhere));
    CHECK(s.read(out) == 500);
    CHECK_FALSE(s.limit_due());
}

TEST_CASE("a peer that breaks the rules is found out") {
    RecvStream s(StreamKind::ordered, 100);
    CHECK(s.on_data(90, some(11), false, kNowhere).error().code == ErrorCode::protocol);
    REQUIRE(s.on_data(0, some(50), false, kNowhere));
    CHECK(s.on_data(0, some(40), true, kNowhere).error().code == ErrorCode::protocol);
    REQUIRE(s.on_data(50, some(10), true, kNowhere));
    CHECK(s.on_data(55, some(10), false, kNowhere).error().code == ErrorCode::protocol);
    CHECK(s.on_data(0, some(20), true, kNowhere).error().code == ErrorCode::protocol);
    CHECK(s.on_reset(61).error().code == ErrorCode::protocol);
    CHECK(s.on_reset(60));
    CHECK(s.over());
}

TEST_CASE("a stopped stream drops what comes and returns its credit") {
    RecvStream s(StreamKind::ordered, 1000);
    REQUIRE(s.on_data(0, some(100), false, kNowhere));
    s.stop();
    CHECK(s.consumed() == 100);
    REQUIRE(s.on_data(100, some(300), false, kNowhere));
    CHECK(s.consumed() == 400);
    CHECK_FALSE(s.readable());
    CHECK_FALSE(s.over());
    REQUIRE(s.on_data(400, {}, true, kNowhere));
    CHECK(s.over());
}

TEST_CASE("what a stopped stream held is gone, and its credit is returned once") {
    RecvStream ordered(StreamKind::ordered, 1000);
    REQUIRE(ordered.on_data(0, some(100), false, kNowhere));
    ordered.stop();
    std::vector<std::byte> out(100);
    CHECK(ordered.read(out) == 0);
    CHECK(ordered.consumed() == 100);

    RecvStream unordered(StreamKind::unordered, 1000);
    REQUIRE(unordered.on_data(0, some(100), false, kNowhere));
    unordered.stop();
    unordered.release(100);
    CHECK(unordered.consumed() == 100);
}

TEST_CASE("a reset stream holds nothing any more") {
    RecvStream s(StreamKind::ordered, 1000);
    REQUIRE(s.on_data(0, some(100), false, kNowhere));
    CHECK(s.held() > 0);
    REQUIRE(s.on_reset(100));
    CHECK(s.held() == 0);
}
