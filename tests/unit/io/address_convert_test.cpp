#include "io/addresses.hpp"

#include <arpa/inet.h>

#include <cstring>

#include "test/catch.hpp"

using namespace udtx;

namespace {

Address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d, std::uint16_t port) {
    Address address;
    address.family = Address::Family::v4;
    address.port = port;
    address.ip = {a, b, c, d};
    return address;
}

Address v6(const char* text, std::uint16_t port, std::uint32_t scope = 0) {
    in6_addr ip{};
    REQUIRE(::inet_pton(AF_INET6, text, &ip) == 1);
    return io::make_address(ip, port, scope);
}

}  // namespace

TEST_CASE("addresses survive the way to a sockaddr and back") {
    for (const Address& address : {v4(192, 0, 2, 1, 7000), v4(255, 255, 255, 255, 65535)}) {
        const auto native = io::to_socket_address(address, AF_INET);
        CHECK(native.length == sizeof(sockaddr_in));
        CHECK(io::from_socket_address(native.get(), native.length) == address);
    }
    for (const Address& address : {v6("2001:db8::1", 1), v6("fe80::1", 7000, 3)}) {
        const auto native = io::to_socket_address(address, AF_INET6);
        CHECK(native.length == sizeof(sockaddr_in6));
        CHECK(io::from_socket_address(native.get(), native.length) == address);
    }
}

TEST_CASE("an IPv4 peer of an IPv6 socket has its IPv4 address") {
    const Address address = v4(192, 0, 2, 1, 7000);
    const auto native = io::to_socket_address(address, AF_INET6);
    REQUIRE(native.length == sizeof(sockaddr_in6));
    sockaddr_in6 in{};
    std::memcpy(&in, native.get(), sizeof in);
    CHECK(IN6_IS_ADDR_V4MAPPED(&in.sin6_addr));
    CHECK(ntohs(in.sin6_port) == 7000);
    CHECK(io::from_socket_address(native.get(), native.length) == address);
    CHECK(v6("::ffff:192.0.2.1", 7000) == address);
}

TEST_CASE("what cannot be converted is none") {
    CHECK(io::to_socket_address(v6("::1", 1), AF_INET).length == 0);
    CHECK(io::to_socket_address(Address{}, AF_INET6).length == 0);
    sockaddr_storage unix_like{};
    unix_like.ss_family = AF_UNIX;
    CHECK(io::from_socket_address(reinterpret_cast<sockaddr*>(&unix_like), sizeof unix_like) == Address{});
    sockaddr_in cut{};
    cut.sin_family = AF_INET;
    CHECK(io::from_socket_address(reinterpret_cast<sockaddr*>(&cut), 4) == Address{});
    CHECK(io::from_socket_address(nullptr, 0) == Address{});
}
