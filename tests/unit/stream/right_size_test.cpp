#include "stream/recv_stream.hpp"

#include "test/catch.hpp"

using udtx::stream::RightSize;

namespace {
constexpr std::uint64_t kMost = 1'000'000;

/// A window through which so many bytes pass in each round trip.
struct Flow {
    RightSize window{1000};
    std::uint64_t moved = 0;
    std::uint64_t pass(std::uint64_t bytes, double share = 1.0, std::uint64_t most = kMost) {
        moved += bytes;
        window.on_round_trip(moved, moved, share, most);
        return window.size();
    }
};
}  // namespace

TEST_CASE("a window that holds the sender up doubles with each round trip, up to twice what the line delivers") {
    Flow flow;
    for (const std::uint64_t expected : {2000U, 4000U, 8000U, 16000U}) CHECK(flow.pass(flow.window.size()) == expected);
    CHECK(flow.pass(10'000) == 20'000);
    for (int i = 0; i < 100; ++i) CHECK(flow.pass(10'000) == 20'000);
    CHECK(flow.window.grown() == 19'000);
}

TEST_CASE("a window grows no further than it may, and keeps what it has when it may have less") {
    Flow flow;
    CHECK(flow.pass(50'000, 1.0, 30'000) == 30'000);
    CHECK(flow.pass(50'000, 1.0, 10'000) == 30'000);
    CHECK(flow.pass(50'000, 1.0, 0) == 30'000);
}

TEST_CASE("of a longer time than a round trip its share counts") {
    Flow flow;
    CHECK(flow.pass(40'000, 0.25) == 20'000);
}

TEST_CASE("what leaves at once after a halt is no faster line, nor what comes in at once") {
    RightSize window(1000);
    window.on_round_trip(500, 0, 1.0, kMost);
    window.on_round_trip(900, 0, 1.0, kMost);
    window.on_round_trip(1000, 1000, 1.0, kMost);  // only 100 bytes were written in this round trip
    CHECK(window.size() == 1000);
    window.on_round_trip(9000, 1100, 1.0, kMost);
    CHECK(window.size() == 1000);
}

TEST_CASE("a window gives back what it did not need for eight round trips, but nothing of its beginning") {
    Flow flow;
    flow.pass(50'000);
    CHECK(flow.window.size() == 100'000);
    for (int i = 0; i < 14; ++i) CHECK(flow.pass(i == 12 ? 30'000 : 1'000) == 100'000);
    CHECK(flow.pass(1'000) == 60'000);
    for (int i = 0; i < 8; ++i) flow.pass(0);
    CHECK(flow.window.size() == 1000);
    CHECK(flow.window.grown() == 0);
}
