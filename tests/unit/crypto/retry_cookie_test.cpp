// Fault 32: cookies that are forged, expired, sent from another address, or used across a change of keys.
#include "crypto/proofs.hpp"

#include <random>

#include "openssl/provider.hpp"
#include "test/catch.hpp"
#include "test/fault_case.hpp"

using namespace udtx;
using namespace udtx::crypto;
using namespace std::chrono_literals;

namespace {

class SeededRng final : public Rng {
  public:
    void fill(std::span<std::byte> out) override {
        for (std::byte& b : out) b = static_cast<std::byte>(random_());
    }

  private:
    std::mt19937_64 random_{7};
};

Address address(std::uint16_t port, std::uint8_t last = 1) {
    Address result;
    result.family = Address::Family::v4;
    result.port = port;
    result.ip = {192, 0, 2, last};
    return result;
}

constexpr ConnectionId kId{42};

struct Bench {
    openssl::OpensslProvider provider;
    SeededRng rng;
    CookieJar jar{provider, rng};
    Instant start{1000s + 300ms};
};

}  // namespace

TEST_CASE("F32 a cookie holds for ten seconds") {
    Bench b;
    const Cookie cookie = b.jar.make(b.start, address(7000), kId);
    CHECK(b.jar.check(b.start, address(7000), kId, cookie));
    CHECK(b.jar.check(b.start + 9s, address(7000), kId, cookie));
    CHECK_FALSE(b.jar.check(b.start + 10s, address(7000), kId, cookie));
    CHECK_FALSE(b.jar.check(b.start - 2s, address(7000), kId, cookie));
}

TEST_CASE("F32 a cookie is bound to address, port, zone and id") {
    Bench b;
    const Cookie cookie = b.jar.make(b.start, address(7000), kId);
    CHECK_FALSE(b.jar.check(b.start, address(7001), kId, cookie));
    CHECK_FALSE(b.jar.check(b.start, address(7000, 2), kId, cookie));
    Address v6 = address(7000);
    v6.family = Address::Family::v6;
    CHECK_FALSE(b.jar.check(b.start, v6, kId, cookie));
    CHECK_FALSE(b.jar.check(b.start, address(7000), ConnectionId{43}, cookie));
    // The same link-local address on another interface is another host.
    Address zoned = v6;
    zoned.scope = 2;
    const Cookie of_zone = b.jar.make(b.start, zoned, kId);
    CHECK(b.jar.check(b.start, zoned, kId, of_zone));
    zoned.scope = 3;
    CHECK_FALSE(b.jar.check(b.start, zoned, kId, of_zone));
    SeededRng other_rng;
    (void)other_rng.next_u64();
    const CookieJar other(b.provider, other_rng);
    CHECK_FALSE(other.check(b.start, address(7000), kId, cookie));
}

TEST_CASE("F32 every altered byte and every other length is refused") {
    Bench b;
    const Cookie good = b.jar.make(b.start, address(7000), kId);
    for (std::size_t i = 0; i < good.size(); ++i) {
        Cookie bad = good;
        bad[i] ^= std::byte{1};
        CHECK_FALSE(b.jar.check(b.start, address(7000), kId, bad));
        CHECK_FALSE(b.jar.check(b.start, address(7000), kId, std::span(good).first(i)));
    }
    const std::array<std::byte, kCookieBytes + 1> longer{};
    CHECK_FALSE(b.jar.check(b.start, address(7000), kId, longer));
    CHECK_FALSE(b.jar.check(b.start, address(7000), kId, {}));
    test::fault_case(32, "cookies with any byte altered or any length cut: refused", 2 * good.size() + 2, " refused");
}

TEST_CASE("F32 a cookie outlives one change of keys, not two") {
    Bench b;
    (void)b.jar.make(b.start, address(1), kId);
    const Instant before = b.start + CookieJar::kKeyPeriod - 1s;
    const Cookie cookie = b.jar.make(before, address(7000), kId);
    const Cookie next = b.jar.make(before + 1s, address(7001), kId);
    CHECK(cookie[8] != next[8]);
    CHECK(b.jar.check(before + 2s, address(7000), kId, cookie));
    CHECK(b.jar.check(before + 2s, address(7001), kId, next));
    (void)b.jar.make(before + 1s + CookieJar::kKeyPeriod, address(7002), kId);
    CHECK_FALSE(b.jar.check(before + 2s, address(7000), kId, cookie));  // even at a time when the cookie was young
}

TEST_CASE("F32 generations wrap round after 256 changes of keys") {
    Bench b;
    Instant now = b.start;
    for (int i = 0; i < 600; ++i) {
        const Cookie cookie = b.jar.make(now, address(7000), kId);
        REQUIRE(b.jar.check(now + 5s, address(7000), kId, cookie));
        now += CookieJar::kKeyPeriod;
    }
    test::fault_case(32, "cookies at each of 600 rollovers of the key: valid for 5 s", "until ",
                     to_seconds(now - b.start), " s");
}
