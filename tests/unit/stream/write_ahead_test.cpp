#include "stream/send_stream.hpp"

#include "test/catch.hpp"

using udtx::stream::WriteAhead;

namespace {
constexpr std::uint64_t kMany = 64U << 20U;

void refill_in_time(WriteAhead& ahead, int times) {
    for (int i = 0; i < times; ++i) {
        ahead.on_full();
        ahead.on_room();
    }
}
}  // namespace

TEST_CASE("what waits to be sent doubles when the writer is late, up to the send buffer") {
    WriteAhead ahead(kMany);
    CHECK(ahead.most() == 4U << 20U);
    ahead.on_empty();  // no writer was waiting
    CHECK(ahead.most() == 4U << 20U);
    for (const unsigned expected : {8U, 16U, 32U, 64U, 64U}) {
        ahead.on_full();
        ahead.on_room();
        ahead.on_empty();
        CHECK(ahead.most() == expected << 20U);
        ahead.on_empty();  // counts once for each time that the writer was told
        CHECK(ahead.most() == expected << 20U);
    }
}

TEST_CASE("what waits to be sent is halved after many refills in time, down to what a cache holds") {
    WriteAhead ahead(kMany);
    for (int i = 0; i < 2; ++i) {
        ahead.on_room();
        ahead.on_empty();
    }
    CHECK(ahead.most() == 16U << 20U);
    refill_in_time(ahead, 31);
    CHECK(ahead.most() == 16U << 20U);
    refill_in_time(ahead, 1);
    CHECK(ahead.most() == 8U << 20U);
    refill_in_time(ahead, 100);
    CHECK(ahead.most() == 4U << 20U);
}

TEST_CASE("a send buffer of less is all that waits") {
    WriteAhead ahead(1U << 20U);
    CHECK(ahead.most() == 1U << 20U);
    ahead.on_room();
    ahead.on_empty();
    CHECK(ahead.most() == 1U << 20U);
    refill_in_time(ahead, 100);
    CHECK(ahead.most() == 1U << 20U);
}
