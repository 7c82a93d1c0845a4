#include "udtx/address.hpp"

#include <algorithm>

#include "test/catch.hpp"

using namespace udtx;

TEST_CASE("the interface of 127.0.0.1 is listed once, with name and index") {
    const auto interfaces = list_interfaces();
    REQUIRE(interfaces);
    const auto has_loopback = [](const Interface& one) {
        return std::any_of(one.addresses.begin(), one.addresses.end(), [](const Address& address) {
            return address.family == Address::Family::v4 && address.ip[0] == 127 && address.ip[3] == 1;
        });
    };
    REQUIRE(std::count_if(interfaces->begin(), interfaces->end(), has_loopback) == 1);
    const auto loopback = std::find_if(interfaces->begin(), interfaces->end(), has_loopback);
    CHECK_FALSE(loopback->name.empty());
    CHECK(loopback->index > 0);
}
