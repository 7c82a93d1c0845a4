// Fault 18. The expected values were computed with Python's hmac, hashlib and the AEADs of its `cryptography` package.
#include "crypto/packet_protection.hpp"

#include <algorithm>
#include <set>

#include "openssl/provider.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "test/fault_case.hpp"

using namespace udtx;
using namespace udtx::crypto;
using test::from_hex;
using test::from_text;
using test::to_hex;

namespace {

/// Records the keys that are requested.
class SpyProvider final : public Provider {
  public:
    std::unique_ptr<Aead> make_aead(Cipher cipher, std::span<const std::byte> key) override {
        keys.push_back(to_hex(key));
        return real.make_aead(cipher, key);
    }
    Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> material) override {
        return real.hkdf_extract(salt, material);
    }
    void hkdf_expand(const Secret& prk, std::span<const std::byte> info, std::span<std::byte> out) override {
        real.hkdf_expand(prk, info, out);
    }
    Secret hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) override {
        return real.hmac_sha256(key, data);
    }
    openssl::OpensslProvider real;
    std::vector<std::string> keys;
};

}  // namespace

TEST_CASE("F18 initial keys follow from the first destination id") {
    SpyProvider provider;
    const InitialKeys keys = derive_initial(provider, ConnectionId{0x8394c8f03e515708});
    REQUIRE(provider.keys.size() == 2);
    CHECK(provider.keys[0] == "00ee8c495339c8a97cce4c1e677222dc116e3daeca234d5b1deaaa8cd42f19b8");
    CHECK(to_hex(keys.client.iv) == "336cead13a72af2d1eab8ca4");
    CHECK(provider.keys[1] == "bac12bf57427bbe8bcb3232a0e6af41e8189f910755d890fd729d70f33ebafd8");
    CHECK(to_hex(keys.server.iv) == "80346cf5ec6f14b2c21a37c9");
}

TEST_CASE("F18 session keys of both directions and their next generations") {
    SpyProvider provider;
    const SessionKeys keys(provider, Cipher::aes_256_gcm, Role::client, test::counting_secret());
    REQUIRE(provider.keys.size() == 4);
    CHECK(provider.keys[0] == "5a7d43866f888ec35f8066c764284967773492e35d45d174792ddc7733093f85");
    CHECK(provider.keys[1] == "e53858ba5681f852b2ecf0fde8a98137055de4521c77844deca3c41c46998973");
    CHECK(provider.keys[2] == "aa2e10916d5d58c5005d7b6a6c6fe076b92f4d2b968f30c3f0ffdd2e6c172ee8");
    CHECK(provider.keys[3] == "a11c96d1f306d61d3b14a8e72ddc0d5dd6b5aab34730d357d01250318d3dd643");
}

TEST_CASE("F18 the nonce is the IV xor path id and packet number") {
    Nonce iv{};
    const auto bytes = from_hex("2c663ef4313aeca1977415a7");
    std::copy(bytes.begin(), bytes.end(), iv.begin());
    CHECK(to_hex(make_nonce(iv, PathId{3}, 0x123456789a)) == "2c663ef7313aecb3a3226d3d");
    CHECK(to_hex(make_nonce(iv, PathId{0}, 0)) == to_hex(iv));
}

TEST_CASE("F18 a sealed packet, byte by byte") {
    const std::string aes = "10af60d17781cee6d9ad1a1e69f40ac934010499aab8e35d9892cb32b5";
    const std::string chacha = "cbfd3210876e3cd12cd91d4f5d95b0500d5e682f198613a4f0b67619bd";
    for (const Cipher cipher : {Cipher::aes_256_gcm, Cipher::chacha20_poly1305}) {
        openssl::OpensslProvider provider;
        SessionKeys keys(provider, cipher, Role::client, test::counting_secret());
        auto packet = from_text("headerpayload bytes");
        packet.resize(packet.size() + kTagBytes);
        keys.seal(PathId{3}, 0x123456789a, packet, 6);
        CHECK(to_hex(packet) == to_hex(from_text("header")) + (cipher == Cipher::aes_256_gcm ? aes : chacha));
    }
    test::fault_case(18, "keys, nonces and packets equal those of another program", "2 ciphers, 10 vectors");
}

TEST_CASE("F25 no two pairs of path and number share a nonce") {
    const Nonce iv{};
    std::set<std::string> seen;
    const PacketNumber numbers[] = {0, 1, 255, 256, 0xffffffff, 0x100000000, ~PacketNumber{0}};
    for (unsigned path = 0; path < 256; ++path) {
        for (const PacketNumber number : numbers) {
            CHECK(seen.insert(to_hex(make_nonce(iv, PathId{static_cast<std::uint8_t>(path)}, number))).second);
        }
    }
    test::fault_case(25, "no two pairs of path and number share a nonce", seen.size(), " nonces");
}

TEST_CASE("The tag of a RETRY covers every byte and the original id") {
    openssl::OpensslProvider provider;
    const ConnectionId id{77};
    auto packet = from_text("retry header and cookie");
    const Tag tag = retry_tag(provider, id, packet);
    packet.insert(packet.end(), tag.begin(), tag.end());
    REQUIRE(check_retry_tag(provider, id, packet));
    CHECK_FALSE(check_retry_tag(provider, ConnectionId{78}, packet));
    CHECK_FALSE(check_retry_tag(provider, id, std::span(packet).first(15)));
    for (std::byte& b : packet) {
        b ^= std::byte{1};
        CHECK_FALSE(check_retry_tag(provider, id, packet));
        b ^= std::byte{1};
    }
}
