#include "udtx/address.hpp"

#include "test/catch.hpp"

using udtx::Address;

namespace {

Address v6(std::array<std::uint8_t, 16> ip, std::uint16_t port, std::uint32_t scope = 0) {
    return {Address::Family::v6, port, ip, scope};
}

}  // namespace

TEST_CASE("an address reads as people write it") {
    CHECK(to_string(Address{}) == "unknown");
    CHECK(to_string(Address{Address::Family::v4, 7000, {192, 0, 2, 1}, 0}) == "192.0.2.1:7000");
    CHECK(to_string(Address{Address::Family::v4, 65535, {255, 255, 255, 255}, 0}) == "255.255.255.255:65535");
}

TEST_CASE("IPv6 text follows RFC 5952") {
    CHECK(to_string(v6({}, 1)) == "[::]:1");
    CHECK(to_string(v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 7000)) == "[::1]:7000");
    CHECK(to_string(v6({0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 7000)) == "[2001:db8::1]:7000");
    CHECK(to_string(v6({0x20, 0x01}, 9)) == "[2001::]:9");
    // A single zero group is not shortened. The longer of two runs is shortened, or the first of two equal runs.
    CHECK(to_string(v6({0, 1, 0, 0, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7}, 9)) == "[1:0:2:3:4:5:6:7]:9");
    CHECK(to_string(v6({0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3}, 9)) == "[1:0:0:2::3]:9");
    CHECK(to_string(v6({0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}, 9)) == "[1::2:0:0:3:4]:9");
    CHECK(to_string(v6({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 9, 3)) == "[fe80::1%3]:9");
    CHECK(to_string(v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3}, 9)) == "[::ffff:10.1.2.3]:9");
}
