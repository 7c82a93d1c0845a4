#include <algorithm>
#include <vector>

#include "frame_equality.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::wire;

namespace {

// Writes a header with `room` bytes left, fills in the payload, and reads the frame back.
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
                // A frame that fills the packet has no length field.
                if (length >= room - before_length) REQUIRE(result.payload.size() == room - before_length);
                REQUIRE(result.payload.size() + before_length + 4 >= std::min(room, length + before_length + 4));
            }
        }
    }
}

TEST_CASE("the smallest rooms") {
    CHECK_FALSE(check(2, StreamId{0}, 0, 0, true).written);
    CHECK(check(3, StreamId{0}, 0, 0, true).fin);
    CHECK_FALSE(check(3, StreamId{0}, 0, 10, true).written);
    const auto one = check(4, StreamId{0}, 0, 10, true);
    CHECK(one.payload.size() == 1);
    CHECK_FALSE(one.fin);
}

TEST_CASE("a STREAM frame without a length takes the packet's last byte, one with a length leaves what follows") {
    for (const unsigned type : {0x20U, 0x21U, 0x22U, 0x23U}) {
        std::vector<std::byte> bytes{static_cast<std::byte>(type), std::byte{2}, std::byte{7}, std::byte{1},
                                     std::byte{1}};
        AckFrame scratch;
        Reader in(bytes);
        const auto frame = read_frame(in, scratch);
        REQUIRE(frame.ok());
        const bool to_end = (type & 2U) != 0;
        CHECK(same(*frame, StreamFrame{StreamId{2}, 7, std::span(bytes).subspan(to_end ? 3U : 4U), (type & 1U) != 0}));
        CHECK(in.empty());
        bytes.push_back(std::byte{1});
        Reader longer(bytes);
        REQUIRE(read_frame(longer, scratch).ok());
        CHECK(longer.remaining() == (to_end ? 0U : 1U));
    }
}

TEST_CASE("a STREAM frame to the end whose bytes would lie beyond the last offset is malformed") {
    std::vector<std::byte> bytes(11);
    Writer out(bytes);
    REQUIRE((out.u8(0x3e) && out.u8(2) && out.u64(kVarintMax)));
    AckFrame scratch;
    Reader in(bytes);
    CHECK_FALSE(read_frame(in, scratch).ok());
    Reader none(std::span<const std::byte>(bytes).first(10));
    CHECK(read_frame(none, scratch).ok());
}
