// Interfaces by index; one that is made anew is tested in tests/loopback/interfaces.sh.
#include "io/interface_indices.hpp"

#include <net/if.h>

#include "test/catch.hpp"

using namespace udtx;

TEST_CASE("an interface that is still there keeps its index, and one that never was has none other") {
    io::InterfaceIndices indices;
    const std::uint32_t loopback = ::if_nametoindex("lo");
    REQUIRE(loopback != 0);
    for (const std::uint32_t index : {0U, loopback, 999'999U}) {
        CHECK(indices.current(index) == index);
        CHECK_FALSE(indices.renew(index));
        CHECK(indices.current(index) == index);
    }
}
