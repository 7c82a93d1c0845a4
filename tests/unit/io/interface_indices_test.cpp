// Interfaces by index. tests/loopback/interfaces.sh tests a real interface that is removed and created again.
#include "io/addresses.hpp"

#include <net/if.h>

#include <map>

#include "test/catch.hpp"

using udtx::io::InterfaceIndices;

TEST_CASE("an interface that is still there keeps its index, and one that never was has none other") {
    InterfaceIndices indices;
    const std::uint32_t loopback = ::if_nametoindex("lo");
    REQUIRE(loopback != 0);
    for (const std::uint32_t index : {0U, loopback, 999'999U}) {
        CHECK(indices.current(index) == index);
        CHECK_FALSE(indices.renew(index));
        CHECK(indices.current(index) == index);
    }
}

TEST_CASE("an interface that is made anew is found by its name, as often as that happens") {
    std::map<std::string, std::uint32_t> there{{"wwan0", 7}, {"eth0", 2}};
    InterfaceIndices indices({.name =
                                  [&](std::uint32_t index) {
                                      for (const auto& [name, other] : there) {
                                          if (other == index) return name;
                                      }
                                      return std::string();
                                  },
                              .index =
                                  [&](const std::string& name) {
                                      const auto found = there.find(name);
                                      return found == there.end() ? 0U : found->second;
                                  }});
    CHECK(indices.current(9) == 9);  // unknown so far: the next call asks again
    CHECK(indices.current(7) == 7);
    there.erase("wwan0");
    CHECK_FALSE(indices.renew(7));
    CHECK(indices.current(7) == 7);
    there["wwan0"] = 9;
    CHECK(indices.renew(7));
    CHECK(indices.current(7) == 9);
    CHECK_FALSE(indices.renew(7));
    there["wwan0"] = 12;
    CHECK(indices.renew(7));
    CHECK(indices.current(7) == 12);
    CHECK(indices.current(2) == 2);
    CHECK(indices.current(12) == 12);
}
