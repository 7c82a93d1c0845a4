// Fault 3: acknowledgements with overlapping ranges, ranges below zero, or too many ranges.
#include <random>
#include <vector>

#include "frame_equality.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::wire;

namespace {

// The fields of an ACK frame, as encoded on the wire.
struct RawAck {
    std::uint64_t delay = 0;
    std::uint64_t largest = 0;
    std::uint64_t first_length = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> more{};  // (gap, length)
    std::optional<std::uint64_t> claimed{};                       // a wrong count, if set
};

Result<Frame> decode(const RawAck& raw, AckFrame& scratch) {
    std::vector<std::byte> memory(16384);
    Writer out(memory);
    bool fits = out.u8(0x02) && out.u8(0) && out.varint(raw.delay) && out.varint(raw.largest) &&
                out.varint(raw.claimed.value_or(raw.more.size())) && out.varint(raw.first_length);
    for (const auto& [gap, length] : raw.more) fits = fits && out.varint(gap) && out.varint(length);
    REQUIRE(fits);
    Reader in(out.written());
    return read_frame(in, scratch);
}

bool accepted(const RawAck& raw) {
    AckFrame scratch;
    return decode(raw, scratch).ok();
}

}  // namespace

TEST_CASE("the layout of an ACK is the documented one") {
    AckFrame frame;
    frame.path = PathId{3};
    frame.delay_us = 5;
    frame.ranges[0] = {18, 20};
    frame.ranges[1] = {10, 16};
    frame.ranges[2] = {7, 7};
    frame.count = 3;
    std::vector<std::byte> memory(64);
    Writer out(memory);
    REQUIRE(write_ack(out, frame));
    constexpr std::array<std::uint8_t, 10> expected{0x02, 3, 5, 20, 2, 2, 0, 6, 1, 0};
    CHECK(same(out.written(), std::as_bytes(std::span(expected))));
}

TEST_CASE("ACK ranges below zero are malformed") {
    CHECK(accepted({.largest = 5, .first_length = 5}));
    CHECK_FALSE(accepted({.largest = 5, .first_length = 6}));
    CHECK_FALSE(accepted({.largest = 0, .first_length = kVarintMax}));
    // Below [10,10] the largest gap that leaves a packet number is 8.
    CHECK(accepted({.largest = 10, .more = {{8, 0}}}));
    CHECK_FALSE(accepted({.largest = 10, .more = {{8, 1}}}));
    CHECK_FALSE(accepted({.largest = 10, .more = {{9, 0}}}));
    CHECK_FALSE(accepted({.largest = 10, .more = {{kVarintMax, 0}}}));
    CHECK_FALSE(accepted({.largest = 10, .more = {{0, kVarintMax}}}));
    CHECK_FALSE(accepted({.largest = 10, .first_length = 10, .more = {{0, 0}}}));
    CHECK_FALSE(accepted({.largest = kVarintMax, .first_length = kVarintMax - 1, .more = {{0, 0}}}));
}

TEST_CASE("too many ACK ranges are malformed") {
    RawAck raw{.largest = 10000};
    raw.more.assign(kMaxAckRanges - 1, {0, 0});
    CHECK(accepted(raw));
    raw.more.emplace_back(0, 0);
    CHECK_FALSE(accepted(raw));
    raw.claimed = kVarintMax;
    CHECK_FALSE(accepted(raw));
}

TEST_CASE("an ACK delay beyond what a Duration holds is malformed") {
    CHECK(accepted({.delay = kMaxMicroseconds}));
    CHECK_FALSE(accepted({.delay = kMaxMicroseconds + 1}));
}

namespace {

/// An ACK_TIMED frame for packet 200 only, with these (distance, earlier) pairs and the count `claimed`.
bool timed_accepted(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& arrivals, std::uint64_t claimed) {
    std::vector<std::byte> memory(1024);
    Writer out(memory);
    bool fits = out.u8(0x04) && out.u8(0) && out.varint(0) && out.varint(200) && out.varint(0) && out.varint(0) &&
                out.varint(claimed);
    for (const auto& [distance, earlier] : arrivals) fits = fits && out.varint(distance) && out.varint(earlier);
    REQUIRE(fits);
    Reader in(out.written());
    AckFrame scratch;
    return read_frame(in, scratch).ok();
}

}  // namespace

TEST_CASE("the layout of an ACK_TIMED is the documented one") {
    AckFrame frame;
    frame.path = PathId{3};
    frame.ranges[0] = {18, 20};
    frame.count = 1;
    frame.arrivals[0] = {8, 50};
    frame.arrivals[1] = {16, 10};
    frame.arrivals[2] = {20, 0};
    frame.arrival_count = 3;
    std::vector<std::byte> memory(64);
    Writer out(memory);
    REQUIRE(write_ack(out, frame));
    constexpr std::array<std::uint8_t, 13> expected{0x04, 3, 0, 20, 0, 2, 3, 0, 0, 4, 10, 8, 50};
    CHECK(same(out.written(), std::as_bytes(std::span(expected))));
}

TEST_CASE("arrivals below number zero, too early, too many, none or fewer than claimed are malformed") {
    CHECK(timed_accepted({{0, 0}}, 1));
    CHECK(timed_accepted({{0, kMaxMicroseconds}, {200, kMaxMicroseconds}}, 2));
    CHECK_FALSE(timed_accepted({{0, kMaxMicroseconds + 1}}, 1));
    CHECK_FALSE(timed_accepted({{0, 0}, {201, 0}}, 2));
    CHECK_FALSE(timed_accepted({{kVarintMax, 0}}, 1));
    CHECK_FALSE(timed_accepted({}, 0));
    CHECK_FALSE(timed_accepted({{0, 0}}, 2));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> many(kMaxAckArrivals, {1, 1});
    CHECK(timed_accepted(many, many.size()));
    many.emplace_back(1, 1);
    CHECK_FALSE(timed_accepted(many, many.size()));
}

TEST_CASE("whatever is accepted descends, is disjoint and not adjacent") {
    std::mt19937 random(7);
    AckFrame scratch;
    int taken = 0;
    for (int round = 0; round < 3000; ++round) {
        RawAck raw{.largest = random() % 2000, .first_length = random() % 50};
        raw.more.resize(random() % 40);
        for (auto& [gap, length] : raw.more) {
            gap = random() % 20;
            length = random() % 20;
        }
        const auto frame = decode(raw, scratch);
        if (!frame) continue;
        ++taken;
        const auto ranges = std::get<AckFrameView>(*frame).frame->view();
        REQUIRE(ranges.size() == raw.more.size() + 1);
        REQUIRE(ranges[0].last == raw.largest);
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            REQUIRE(ranges[i].first <= ranges[i].last);
            if (i > 0) REQUIRE(ranges[i].last + 2 <= ranges[i - 1].first);
        }
    }
    CHECK(taken > 500);
    CHECK(taken < 3000);
}
