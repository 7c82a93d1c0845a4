// What a process keeps of the paths that its connections measured.
#include "udtx/known_paths.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;

namespace {

constexpr Instant kNow = Instant(24h);

PublicKey key(unsigned char number) {
    PublicKey key;
    key.bytes[0] = std::byte{number};
    return key;
}

Address host(std::uint8_t last, std::uint16_t port = 7000) {
    Address address{.family = Address::Family::v4, .port = port};
    address.ip = {192, 0, 2, last};
    return address;
}

KnownPaths::Entry entry(double rate, Instant measured = kNow) {
    return {.peer = key(1),
            .local = host(1),
            .remote = host(2),
            .path = {.capacity = Rate::bytes_per_second(rate), .base_rtt = 50ms, .measured = measured}};
}

}  // namespace

TEST_CASE("known paths: only the same peer between the same two addresses finds one; ports do not matter") {
    KnownPaths paths;
    paths.note(entry(1e6));
    CHECK_FALSE(paths.take(key(2), host(1), host(2), kNow));
    CHECK_FALSE(paths.take(key(1), host(3), host(2), kNow));
    CHECK_FALSE(paths.take(key(1), host(1), host(3), kNow));
    CHECK_FALSE(paths.take(key(1), host(2), host(1), kNow));
    CHECK_FALSE(paths.take(key(1), {}, host(2), kNow));
    const auto found = paths.take(key(1), host(1, 1), host(2, 2), kNow);
    REQUIRE(found);
    CHECK(found->capacity.bytes_per_second() == Approx(1e6));
    CHECK(found->base_rtt == 50ms);
}

TEST_CASE("known paths: a path without one of the addresses is not kept") {
    KnownPaths paths;
    KnownPaths::Entry one = entry(1e6);
    one.local = {};
    paths.note(one);
    CHECK(paths.entries(kNow).empty());
}

TEST_CASE("known paths: they are kept for ten minutes") {
    KnownPaths paths;
    paths.note(entry(1e6));
    CHECK_FALSE(paths.take(key(1), host(1), host(2), kNow + 10min + 1ms));
    CHECK(paths.entries(kNow + 10min + 1ms).empty());
    CHECK(paths.take(key(1), host(1), host(2), kNow + 10min));
    CHECK(paths.entries(kNow + 10min).size() == 1);
}

TEST_CASE("known paths: a later measurement counts, also one that says that the earlier ones are wrong") {
    KnownPaths paths;
    paths.note(entry(1e6));
    paths.note(entry(2e6, kNow - 1s));
    CHECK(paths.take(key(1), host(1), host(2), kNow)->capacity.bytes_per_second() == Approx(1e6));
    paths.note(entry(3e6, kNow + 1s));
    CHECK(paths.take(key(1), host(1), host(2), kNow + 1s)->capacity.bytes_per_second() == Approx(3e6));
    paths.note(entry(0.0, kNow + 2s));
    CHECK_FALSE(paths.take(key(1), host(1), host(2), kNow + 2s));
    CHECK(paths.entries(kNow + 2s).size() == 1);  // so that it also replaces an entry elsewhere
}

TEST_CASE("known paths: of several connections that start at once, one gets it") {
    KnownPaths paths;
    KnownPaths::Entry far = entry(1e6);
    far.path.base_rtt = 500ms;
    paths.note(far);
    CHECK(paths.take(key(1), host(1), host(2), kNow));
    CHECK_FALSE(paths.take(key(1), host(1), host(2), kNow + 4s));
    CHECK(paths.take(key(1), host(1), host(2), kNow + 5s));
    CHECK_FALSE(paths.take(key(1), host(1), host(2), kNow + 5s));
}

TEST_CASE("known paths: their number is bounded, and the oldest goes first") {
    KnownPaths paths;
    paths.note(entry(1e6, kNow - 1min));
    for (unsigned n = 0; n < KnownPaths::kMost; ++n) {
        KnownPaths::Entry one = entry(1e6);
        one.peer = key(static_cast<unsigned char>(n));
        one.remote = host(3);
        paths.note(one);
    }
    CHECK(paths.entries(kNow).size() == KnownPaths::kMost);
    CHECK_FALSE(paths.take(key(1), host(1), host(2), kNow));
    CHECK(paths.take(key(0), host(1), host(3), kNow));
}
