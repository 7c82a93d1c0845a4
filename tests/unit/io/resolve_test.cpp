#include "udtx/address.hpp"

#include "test/catch.hpp"

using namespace udtx;

TEST_CASE("numeric addresses resolve to themselves") {
    const auto four = resolve("192.0.2.7", 7000);
    REQUIRE(four);
    REQUIRE(four->size() == 1);
    CHECK(to_string(four->front()) == "192.0.2.7:7000");

    for (const char* text : {"2001:db8::7", "[2001:db8::7]"}) {
        const auto six = resolve(text, 7000);
        REQUIRE(six);
        REQUIRE(six->size() == 1);
        CHECK(to_string(six->front()) == "[2001:db8::7]:7000");
    }
}

TEST_CASE("the family can be forced") {
    const auto wrong = resolve("192.0.2.7", 1, AddressChoice::v6_only);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == ErrorCode::network);
    CHECK(wrong.error().message.find("192.0.2.7") != std::string::npos);
    CHECK(resolve("192.0.2.7", 1, AddressChoice::v4_only).ok());
}

TEST_CASE("no host means every interface") {
    const auto any = resolve("", 7000);
    REQUIRE(any);
    REQUIRE(any->size() == 2);
    CHECK(to_string(any->front()) == "[::]:7000");
    CHECK(to_string(any->back()) == "0.0.0.0:7000");
    const auto four = resolve("*", 7000, AddressChoice::v4_only);
    REQUIRE(four);
    CHECK(four->size() == 1);
}

TEST_CASE("host and port are told apart") {
    const auto parsed = [](const std::string& text) {
        const auto result = parse_host_port(text);
        REQUIRE(result);
        return result->host + "|" + std::to_string(result->port);
    };
    CHECK(parsed("host.example:7000") == "host.example|7000");
    CHECK(parsed("[2001:db8::1]:7000") == "2001:db8::1|7000");
    CHECK(parsed(":0") == "|0");
    CHECK(parsed("65535") == "|65535");
    for (const char* bad : {"", "host", "host:", "host:65536", "host:-1", "host:7 ", "2001:db8::1", "[::1", "::1]:5"}) {
        INFO(bad);
        CHECK_FALSE(parse_host_port(bad).ok());
    }
}
