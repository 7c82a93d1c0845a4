// Fault 18. The expected values were computed with Python's hmac, hashlib and the AEADs of its `cryptography` package.
#include "crypto/packet_key.hpp"

#include <algorithm>
#include <set>

#include "crypto/key_schedule.hpp"
#include "openssl/provider.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::crypto;
using test::from_hex;
using test::from_text;
using test::to_hex;

namespace {

/// Notes the keys that are asked for.
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
    CHECK(provider.keys[0] == "1ac899947c414776169fe6dd47d13a639adbb083f2b38e0ed17feec2c4627e24");
    CHECK(to_hex(keys.client.iv) == "5b059bc5d4de1a12feddcfcc");
    CHECK(provider.keys[1] == "59103159da0ea7380345e05eb8a8b858e7f501c811629f2991589b7ff4581ebd");
    CHECK(to_hex(keys.server.iv) == "6a3ce02735d5e37d27747074");
}

TEST_CASE("F18 session keys of both directions and their next generations") {
    SpyProvider provider;
    const SessionKeys keys(provider, Cipher::aes_256_gcm, Role::client, test::counting_secret());
    REQUIRE(provider.keys.size() == 4);
    CHECK(provider.keys[0] == "afbaecd4bed391e656fbefbdd57b15994bcfbfe7b017f8ca38ea4657b1dffab5");
    CHECK(provider.keys[1] == "b9c90f41c900d5968f0e731c0fddb8ef1bd3fea0779037edbfdf4c13c83d7393");
    CHECK(provider.keys[2] == "38fe8f19906db1b47d0d380f567785f972787677e1d3337df940d54c83f4050c");
    CHECK(provider.keys[3] == "40010a30d0724de9e90538da12adf5a5c71a8b3459ad76beafacc05fdf294f64");
}

TEST_CASE("F18 the nonce is the IV xor path id and packet number") {
    Nonce iv{};
    const auto bytes = from_hex("b5d2a5b50bca07b2a839fa54");
    std::copy(bytes.begin(), bytes.end(), iv.begin());
    CHECK(to_hex(make_nonce(iv, PathId{3}, 0x123456789a)) == "b5d2a5b60bca07a09c6f82ce");
    CHECK(to_hex(make_nonce(iv, PathId{0}, 0)) == to_hex(iv));
}

TEST_CASE("F18 a sealed packet, byte by byte") {
    const std::string aes = "4c6e523dbefa4f9409ccef00a3c392148ac91fa06f3de748d79dabfb5f";
    const std::string chacha = "b02f3f9754fd33cec29f9c54d907d5804e6fd1cb3f93779fde3cebb83b";
    for (const Cipher cipher : {Cipher::aes_256_gcm, Cipher::chacha20_poly1305}) {
        openssl::OpensslProvider provider;
        SessionKeys keys(provider, cipher, Role::client, test::counting_secret());
        auto packet = from_text("headerpayload bytes");
        packet.resize(packet.size() + kTagBytes);
        keys.seal(PathId{3}, 0x123456789a, packet, 6);
        CHECK(to_hex(packet) == to_hex(from_text("header")) + (cipher == Cipher::aes_256_gcm ? aes : chacha));
    }
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
