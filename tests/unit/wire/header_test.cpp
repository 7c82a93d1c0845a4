#include "wire/header.hpp"

#include <algorithm>
#include <vector>

#include "test/catch.hpp"
#include "test/fault_case.hpp"
#include "wire/cursor.hpp"

using namespace udtx;
using namespace udtx::wire;

namespace {

const std::vector<std::byte> kToken(kMaxTokenBytes, std::byte{0x33});

std::vector<std::byte> packet(const LongHeader& header, std::size_t payload) {
    std::vector<std::byte> out(400);
    const std::size_t n = write_long_header(header, out);
    REQUIRE(n > 0);
    out.resize(n + payload);
    return out;
}

LongHeader long_header(LongType type, std::span<const std::byte> token = {}) {
    LongHeader h;
    h.type = type;
    h.destination = ConnectionId{0x1122334455667788ULL};
    h.source = ConnectionId{0xddeeff00ULL};
    h.token = token;
    h.packet_number = 0xfedcba98;
    return h;
}

void check_round_trip(const LongHeader& header, std::size_t payload, std::size_t header_bytes) {
    const auto bytes = packet(header, payload);
    const auto back = parse_long_header(bytes);
    REQUIRE(back);
    CHECK(back->type == header.type);
    CHECK(back->destination == header.destination);
    CHECK(back->source == header.source);
    CHECK(std::equal(back->token.begin(), back->token.end(), header.token.begin(), header.token.end()));
    CHECK(back->header_bytes == header_bytes);
    CHECK(is_long_header(bytes));
    CHECK_FALSE(parse_short_header(bytes));
    // Input that is shorter than header and tag is not a packet.
    for (std::size_t size = 0; size < header_bytes + std::min(payload, kTagBytes); ++size) {
        const std::vector<std::byte> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        if (header.type == LongType::retry && size > kLongHeaderBytes + kTagBytes) break;  // parses as a shorter cookie
        if (parse_long_header(exact)) FAIL("accepted with " << size << " bytes");
    }
}

}  // namespace

TEST_CASE("long headers round-trip") {
    check_round_trip(long_header(LongType::hello), 16, kLongHeaderBytes + 1 + 4);
    check_round_trip(long_header(LongType::hello, kToken), 100, kLongHeaderBytes + 2 + 128 + 4);
    check_round_trip(long_header(LongType::handshake), 16, kLongHeaderBytes + 4);
    check_round_trip(long_header(LongType::retry, kToken), kTagBytes, kLongHeaderBytes + 128);
    check_round_trip(long_header(LongType::retry, std::span(kToken).first(1)), kTagBytes, kLongHeaderBytes + 1);
    check_round_trip(long_header(LongType::version_negotiation), 0, kLongHeaderBytes);
    CHECK(parse_long_header(packet(long_header(LongType::handshake), 16))->packet_number == 0xfedcba98);
    CHECK(parse_long_header(packet(long_header(LongType::hello), 16))->packet_number == 0xfedcba98);
}

TEST_CASE("the layout of a hello is the documented one") {
    const auto bytes = packet(long_header(LongType::hello, std::span(kToken).first(2)), 0);
    constexpr std::array<std::uint8_t, 28> expected{0x80, 0x75, 0x64, 0x78, 0x04, 0x11, 0x22, 0x33, 0x44, 0x55,
                                                    0x66, 0x77, 0x88, 0x00, 0x00, 0x00, 0x00, 0xdd, 0xee, 0xff,
                                                    0x00, 0x02, 0x33, 0x33, 0xfe, 0xdc, 0xba, 0x98};
    REQUIRE(bytes.size() == expected.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) CHECK(bytes[i] == std::byte{expected[i]});
}

TEST_CASE("long headers that are not ours") {
    const auto good = packet(long_header(LongType::hello), 16);
    REQUIRE(parse_long_header(good));
    for (const unsigned bit : {0x40U, 0x08U, 0x04U, 0x02U, 0x01U}) {
        auto bytes = good;
        bytes[0] |= static_cast<std::byte>(bit);
        CHECK_FALSE(parse_long_header(bytes));
    }
    const std::vector<std::byte> long_token(kMaxTokenBytes + 1);
    std::vector<std::byte> out(400);
    CHECK(write_long_header(long_header(LongType::hello, long_token), out) == 0);
    auto bytes = packet(long_header(LongType::hello, kToken), 200);
    bytes[kLongHeaderBytes + 1] = std::byte{129};
    CHECK_FALSE(parse_long_header(bytes));
    // An id that does not fit into a short header. In a retry, this field is the client's own name for the server.
    for (const LongType type : {LongType::hello, LongType::handshake}) {
        LongHeader header = long_header(type);
        header.source = ConnectionId{kMaxChosenId + 1};
        CHECK_FALSE(parse_long_header(packet(header, 16)));
    }
    LongHeader retry = long_header(LongType::retry, kToken);
    retry.source = ConnectionId{kMaxChosenId + 1};
    CHECK(parse_long_header(packet(retry, kTagBytes)));
    // A retry without a cookie, or with a cookie that is too long.
    CHECK_FALSE(parse_long_header(packet(long_header(LongType::retry), kTagBytes)));
    CHECK_FALSE(parse_long_header(packet(long_header(LongType::retry, kToken), kTagBytes + 1)));
}

TEST_CASE("another version shows its ids and nothing else") {
    LongHeader header = long_header(LongType::hello, kToken);
    header.version = kVersion + 1;
    auto bytes = packet(header, 16);
    bytes[0] = std::byte{0xff};
    const auto back = parse_long_header(bytes);
    REQUIRE(back);
    CHECK(back->version == kVersion + 1);
    CHECK(back->destination == header.destination);
    CHECK(back->source == header.source);
    CHECK(back->token.empty());
    CHECK(back->type == LongType::hello);
    CHECK(back->header_bytes == kLongHeaderBytes);
}

TEST_CASE("version negotiation has version 0, and nothing else has") {
    auto bytes = packet(long_header(LongType::version_negotiation), 4);
    CHECK(parse_long_header(bytes)->version == 0);
    bytes[0] = std::byte{0x80};
    CHECK_FALSE(parse_long_header(bytes));
    bytes = packet(long_header(LongType::handshake), 16);
    bytes[0] = std::byte{0xb0};
    CHECK_FALSE(parse_long_header(bytes));
}

TEST_CASE("short headers round-trip") {
    for (const bool phase : {false, true}) {
        for (const bool pair : {false, true}) {
            const ShortHeader header{ConnectionId{0x91020304}, PathId{200}, 0xabcdef, phase, pair};
            std::vector<std::byte> bytes(kShortHeaderBytes + kTagBytes);
            REQUIRE(write_short_header(header, bytes) == kShortHeaderBytes);
            const auto back = parse_short_header(bytes);
            REQUIRE(back);
            CHECK(back->destination == header.destination);
            CHECK(back->path == header.path);
            CHECK(back->packet_number == header.packet_number);
            CHECK(back->key_phase == phase);
            CHECK(back->pair_second == pair);
            CHECK_FALSE(is_long_header(bytes));
            CHECK_FALSE(parse_short_header(std::span(bytes).first(bytes.size() - 1)));
        }
    }
    std::vector<std::byte> bytes(kShortHeaderBytes + kTagBytes);
    write_short_header({ConnectionId{0x91020304}, PathId{200}, 0x12abcdef, true, false}, bytes);
    constexpr std::array<std::uint8_t, kShortHeaderBytes> expected{0x60, 0x91, 0x02, 0x03, 0x04, 200, 0xab, 0xcd, 0xef};
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(bytes[i] == std::byte{expected[i]});
    bytes[0] = std::byte{0};
    CHECK(write_short_header({}, std::span(bytes).first(kShortHeaderBytes - 1)) == 0);
    CHECK_FALSE(parse_short_header(bytes));  // the fixed bit is clear
    for (const unsigned flags : {0x41U, 0x48U, 0xc0U}) {
        bytes[0] = static_cast<std::byte>(flags);
        CHECK_FALSE(parse_short_header(bytes));
    }
}

TEST_CASE("packet numbers expand to the nearest (RFC 9000, appendix A.3)") {
    // The RFC's example has 16 bits on the wire. Here all its numbers are shifted left by 8 bits.
    CHECK(expand_packet_number(0x9b3200, (0xa82f30eaULL + 1) << 8U) == 0xa82f9b32ULL << 8U);

    CHECK(expand_packet_number(0, 0) == 0);
    CHECK(expand_packet_number(0xffffff, 0) == 0xffffff);  // packet numbers start at zero
    CHECK(expand_packet_number(0xffffff, 0x1000000) == 0xffffff);
    CHECK(expand_packet_number(0, 0xffffff) == 0x1000000);
    CHECK(expand_packet_number(0x7fffff, 0x1ffffff) == 0x27fffff);
    CHECK(expand_packet_number(0x800000, 0x1000000) == 0x1800000);
    CHECK(expand_packet_number(0x800001, 0x1000000) == 0x800001);
    CHECK(expand_packet_number(0, kVarintMax) == kVarintMax - 0xffffff);  // packet numbers end at 2^62-1
    CHECK(expand_packet_number(0x12000007, 0) == 7);                      // only the low 24 bits count
}

TEST_CASE("F82 every number within half a window of the expected one survives truncation") {
    int survived = 0;
    for (const PacketNumber expected : std::vector<PacketNumber>{0x800000, 0xffffff, 0x1000000, 0xffffffff, 0x100000000,
                                                                 0x123456789abc, kVarintMax - 0x800000}) {
        for (const std::int64_t off : {-0x7fffffLL, -65536LL, -1LL, 0LL, 1LL, 65536LL, 0x7fffffLL}) {
            const PacketNumber number = expected + static_cast<std::uint64_t>(off);
            CHECK(expand_packet_number(static_cast<std::uint32_t>(number & 0xffffff), expected) == number);
            ++survived;
        }
    }
    test::fault_case(82, "packet numbers near 2^24, 2^32 and 2^62 survive truncation to 24 bits", survived, " numbers");
}
