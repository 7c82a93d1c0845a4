#include "base/containers.hpp"

#include "test/catch.hpp"

TEST_CASE("a ring keeps its numbers while it grows and wraps") {
    udtx::Ring<std::uint64_t> ring(1000);
    CHECK(ring.empty());
    for (std::uint64_t n = 1000; n < 6000; ++n) {
        REQUIRE(ring.next() == n);
        ring.push_back(n * 3);
        if (n % 3 == 0) ring.pop_front();
    }
    REQUIRE(ring.first() == 1000 + 1666);
    REQUIRE(ring.size() == 5000 - 1666);
    CHECK_FALSE(ring.contains(ring.first() - 1));
    CHECK_FALSE(ring.contains(ring.next()));
    for (std::uint64_t n = ring.first(); n != ring.next(); ++n) REQUIRE(ring[n] == n * 3);
}
