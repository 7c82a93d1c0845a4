#include "wire/cursor.hpp"

#include <array>
#include <vector>

#include "test/catch.hpp"

using udtx::wire::kVarintMax;
using udtx::wire::Reader;
using udtx::wire::varint_bytes;
using udtx::wire::Writer;

namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> out;
    for (const int v : values) out.push_back(static_cast<std::byte>(v));
    return out;
}

}  // namespace

TEST_CASE("varints decode as in RFC 9000, appendix A.1") {
    const auto decode = [](const std::vector<std::byte>& data) {
        Reader in(data);
        const auto v = in.varint();
        REQUIRE(in.empty());
        return v;
    };
    CHECK(decode(bytes({0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c})) == 151288809941952652ULL);
    CHECK(decode(bytes({0x9d, 0x7f, 0x3e, 0x7d})) == 494878333ULL);
    CHECK(decode(bytes({0x7b, 0xbd})) == 15293ULL);
    CHECK(decode(bytes({0x25})) == 37ULL);
    CHECK(decode(bytes({0x40, 0x25})) == 37ULL);  // an encoding that is longer than necessary is accepted
}

TEST_CASE("varints round-trip at the borders of their sizes") {
    for (const std::uint64_t v :
         std::vector<std::uint64_t>{0, 63, 64, 16383, 16384, (1U << 30U) - 1, 1U << 30U, kVarintMax}) {
        std::array<std::byte, 8> memory{};
        Writer out(memory);
        REQUIRE(out.varint(v));
        CHECK(out.size() == varint_bytes(v));
        Reader in(out.written());
        CHECK(in.varint() == v);
        CHECK(in.empty());
        Writer small(std::span<std::byte>(memory).first(varint_bytes(v) - 1));
        CHECK_FALSE(small.varint(v));
        CHECK(small.size() == 0);
    }
    std::array<std::byte, 8> memory{};
    Writer out(memory);
    CHECK_FALSE(out.varint(kVarintMax + 1));
    CHECK(out.padded_varint(5, 4));
    CHECK(Reader(out.written()).varint() == 5U);
}

TEST_CASE("integers are in network order") {
    std::array<std::byte, 13> memory{};
    Writer out(memory);
    CHECK(out.u8(1));
    CHECK(out.u32(0x02030405));
    CHECK(out.u64(0x060708090a0b0c0dULL));
    CHECK_FALSE(out.u8(0));
    for (std::size_t i = 0; i < memory.size(); ++i) CHECK(memory[i] == static_cast<std::byte>(i + 1));
    Reader in(memory);
    CHECK(in.u8() == 1U);
    CHECK(in.u32() == 0x02030405U);
    CHECK(in.u64() == 0x060708090a0b0c0dULL);
}

TEST_CASE("a reader that ran past the end stays failed") {
    const auto data = bytes({0x80, 0, 0});
    Reader in(data);
    CHECK(in.peek() == 0x80U);
    CHECK_FALSE(in.varint());
    CHECK_FALSE(in.u8());
    CHECK_FALSE(in.bytes(0));
    CHECK_FALSE(in.peek());
    CHECK(in.remaining() == 3);
}

TEST_CASE("a writer fills, reserves and goes back") {
    std::array<std::byte, 4> memory{std::byte{9}, std::byte{9}, std::byte{9}, std::byte{9}};
    Writer out(memory);
    CHECK(out.zeros(2));
    CHECK_FALSE(out.zeros(3));
    CHECK_FALSE(out.bytes(bytes({1, 2, 3})));
    CHECK(out.reserve(3).empty());
    CHECK(out.size() == 2);
    CHECK(out.reserve(2).data() == memory.data() + 2);
    out.rewind(1);
    CHECK(out.bytes(bytes({7})));
    CHECK(memory[1] == std::byte{7});
    CHECK(out.room() == 2);
}
