#include "transfer/serve/client_budget.hpp"

#include "test/catch.hpp"
#include "udtx/address.hpp"

using namespace udtx;
using transfer::ClientBudget;

namespace {

std::uint64_t owner(const std::string& numbers, std::uint64_t identity = 0) {
    const auto found = resolve(numbers, 7000, AddressChoice::any);
    REQUIRE(found.ok());
    return ClientBudget::owner(found->front(), identity);
}

}  // namespace

TEST_CASE("All addresses of one IPv6 /64 are one owner") {
    CHECK(owner("2001:db8:1:2::1") == owner("2001:db8:1:2:ffff:1:2:3"));
    CHECK(owner("2001:db8:1:2::1") != owner("2001:db8:1:3::1"));
}

TEST_CASE("Each address of a link is an owner, and so is each IPv4 address") {
    CHECK(owner("fe80::1") != owner("fe80::2"));
    CHECK(owner("192.0.2.1") != owner("192.0.2.2"));
    CHECK(owner("192.0.2.1") == owner("192.0.2.1"));
}

TEST_CASE("With keys of their own the address says nothing") {
    CHECK(owner("192.0.2.1", 5) == owner("192.0.2.2", 5));
    CHECK(owner("192.0.2.1", 5) != owner("192.0.2.1", 6));
    CHECK(owner("192.0.2.1") != 0);  // 0 means no owner
}
