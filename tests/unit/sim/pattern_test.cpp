#include "sim/pattern.hpp"

#include <algorithm>

#include "test/catch.hpp"

namespace pattern = udtx::sim::pattern;
using udtx::Chunk;

TEST_CASE("pattern chunks match only at their own offset") {
    const std::uint64_t offset = 123'456'789'012ULL;
    const Chunk c = pattern::chunk(offset, 5000);
    CHECK(c.size() == 5000);
    CHECK(pattern::matches(offset, c.bytes()));
    CHECK_FALSE(pattern::matches(offset + 1, c.bytes()));
    CHECK_FALSE(pattern::matches(offset + (1U << 20U), c.bytes()));
    CHECK(pattern::matches(offset + 100, c.bytes().subspan(100)));
}

TEST_CASE("pattern chunks of the largest size end where the next one starts") {
    const Chunk a = pattern::chunk(pattern::kPeriod - 1, pattern::kMaxChunk);
    CHECK(pattern::matches(pattern::kPeriod - 1, a.bytes()));
    const Chunk b = pattern::chunk(pattern::kPeriod + 10, 100);
    CHECK(std::ranges::equal(a.bytes().subspan(11, 100), b.bytes()));
}

TEST_CASE("ledger accepts each byte once") {
    pattern::Ledger l;
    CHECK(l.add(10, 10));
    CHECK(l.add(30, 10));
    CHECK_FALSE(l.add(19, 1));
    CHECK_FALSE(l.add(10, 1));
    CHECK_FALSE(l.add(5, 6));
    CHECK_FALSE(l.add(15, 30));
    CHECK(l.add(20, 10));
    CHECK(l.pieces() == 1);
    CHECK_FALSE(l.complete(40));
    CHECK(l.add(0, 10));
    CHECK(l.complete(40));
    CHECK_FALSE(l.complete(41));
    CHECK(l.total() == 40);
}
