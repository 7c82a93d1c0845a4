#include <algorithm>
#include <vector>

#include "frame_equality.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::wire;

namespace {

// Writes a header with `room` bytes left, fills the payload, reads the frame back.
StreamRoom check(std::size_t room, StreamId id, std::uint64_t offset, std::size_t length, bool fin) {
    INFO("room " << room << " offset " << offset << " length " << length << " fin " << fin);
    std::vector<std::byte> memory(room);
    Writer out(memory);
    const StreamRoom result = write_stream_header(out, id, offset, length, fin);
    if (!result.written) {
        REQUIRE(out.size() == 0);
        REQUIRE(result.payload.empty());
        return result;
    }
    std::fill(result.payload.begin(), result.payload.end(), std::byte{0x77});
    AckFrame scratch;
    Reader in(out.written());
    const auto frame = read_frame(in, scratch);
    REQUIRE(frame.ok());
    REQUIRE(in.empty());
    REQUIRE(same(*frame, StreamFrame{id, offset, result.payload, result.fin}));
    REQUIRE(result.payload.size() <= length);
    REQUIRE(result.fin == (fin && result.payload.size() == length));
    REQUIRE((length == 0 || !result.payload.empty()));
    return result;
}

}  // namespace

TEST_CASE("a STREAM header takes what fits") {
    const std::size_t before_length = 3;  // type, one-byte id, one-byte offset
    for (const std::size_t length : {0U, 1U, 62U, 63U, 64U, 65U, 200U, 16382U, 16383U, 16384U, 70000U}) {
        for (const bool fin : {false, true}) {
            for (std::size_t room = 0; room < 140; ++room) check(room, StreamId{2}, 7, length, fin);
            for (std::size_t room = 16380; room < 16400; ++room) {
                const auto result = check(room, StreamId{2}, 7, length, fin);
                REQUIRE(result.written);
                // At most two bytes of the room are wasted, and only at a border of the length field.
                REQUIRE(result.payload.size() + before_length + 6 >= std::min(room, length + before_length + 6));
            }
        }
    }
}

TEST_CASE("the smallest rooms") {
    CHECK_FALSE(check(3, StreamId{0}, 0, 0, true).written);
    CHECK(check(4, StreamId{0}, 0, 0, true).fin);
    CHECK_FALSE(check(4, StreamId{0}, 0, 10, true).written);
    const auto one = check(5, StreamId{0}, 0, 10, true);
    CHECK(one.payload.size() == 1);
    CHECK_FALSE(one.fin);
}

TEST_CASE("the announced header size is enough") {
    for (const std::uint64_t offset : {0ULL, 64ULL, 1ULL << 20U, 1ULL << 40U}) {
        for (const std::size_t length : {1U, 63U, 64U, 16384U, 60000U}) {
            const std::size_t room = stream_header_bytes(StreamId{4}, offset) + length;
            CHECK(check(room, StreamId{4}, offset, length, true).payload.size() == length);
        }
    }
}
