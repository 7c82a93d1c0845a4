#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "openssl/provider.hpp"
#include "openssl/vector_aead.hpp"
#include "test/bytes.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::crypto;

namespace {

constexpr std::size_t kHeader = 14;

std::vector<std::byte> plain_packet(std::size_t payload) {
    std::vector<std::byte> packet(kHeader + payload + kTagBytes);
    for (std::size_t i = 0; i < kHeader + payload; ++i) packet[i] = static_cast<std::byte>(i * 7);
    return packet;
}

}  // namespace

TEST_CASE("What was sealed opens to the same bytes, at every size") {
    openssl::OpensslProvider provider;
    for (const Cipher cipher : {Cipher::aes_256_gcm, Cipher::chacha20_poly1305}) {
        const auto aead = provider.make_aead(cipher, test::counting_secret());
        for (const std::size_t payload : {0, 1, 15, 16, 17, 1400, 8986, 64970}) {
            const auto plain = plain_packet(payload);
            auto packet = plain;
            Nonce nonce{};
            nonce[11] = static_cast<std::byte>(payload);
            aead->seal(nonce, packet, kHeader);
            if (payload > 0) CHECK(!std::equal(packet.begin() + kHeader, packet.end(), plain.begin() + kHeader));
            REQUIRE(aead->open(nonce, packet, kHeader));
            CHECK(std::equal(plain.begin(), plain.end() - kTagBytes, packet.begin()));
        }
    }
}

TEST_CASE("Every flipped bit, another nonce and another key are refused, and the next packet opens") {
    openssl::OpensslProvider provider;
    // The provider may prefer another library to OpenSSL.
    const bool plain = GENERATE(false, true);
    std::vector<openssl::CipherPtr> algorithms;
    const auto make = [&](Cipher cipher, const Secret& key) {
        if (!plain) return provider.make_aead(cipher, key);
        const char* const name = cipher == Cipher::aes_256_gcm ? "AES-256-GCM" : "ChaCha20-Poly1305";
        algorithms.emplace_back(EVP_CIPHER_fetch(nullptr, name, nullptr));
        return openssl::make_evp_aead(algorithms.back().get(), key);
    };
    for (const Cipher cipher : {Cipher::aes_256_gcm, Cipher::chacha20_poly1305}) {
        const auto aead = make(cipher, test::counting_secret());
        auto sealed = plain_packet(20);
        aead->seal({}, sealed, kHeader);
        for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
            auto bad = sealed;
            bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            CHECK_FALSE(aead->open({}, bad, kHeader));
        }
        auto copy = sealed;
        CHECK_FALSE(aead->open({std::byte{1}}, copy, kHeader));
        auto other_key = test::counting_secret();
        other_key[31] ^= std::byte{1};
        copy = sealed;
        CHECK_FALSE(make(cipher, other_key)->open({}, copy, kHeader));
        copy = sealed;
        CHECK_FALSE(aead->open({}, std::span(copy).first(kHeader + kTagBytes - 1), kHeader));
        CHECK(aead->open({}, sealed, kHeader));
    }
}

TEST_CASE("What Intel's library seals OpenSSL opens, and the other way round") {
    const auto key = test::counting_secret();
    const auto [cipher, name] = GENERATE(std::pair(Cipher::aes_256_gcm, "AES-256-GCM"),
                                         std::pair(Cipher::chacha20_poly1305, "ChaCha20-Poly1305"));
    const openssl::CipherPtr algorithm(EVP_CIPHER_fetch(nullptr, name, nullptr));
    const auto evp = openssl::make_evp_aead(algorithm.get(), key);
    const auto vector = openssl::make_vector_aead(cipher, key);
    if (!vector) {
        WARN("skipped " << name << ": not in this build, or not for this processor");
        return;
    }
    const auto check = [&](crypto::Aead& sealing, crypto::Aead& opening, std::size_t payload) {
        const auto plain = plain_packet(payload);
        auto packet = plain;
        Nonce nonce{};
        nonce[0] = static_cast<std::byte>(payload);
        sealing.seal(nonce, packet, kHeader);
        REQUIRE(opening.open(nonce, packet, kHeader));
        CHECK(std::equal(plain.begin(), plain.end() - kTagBytes, packet.begin()));
    };
    for (std::size_t payload = 0; payload < 70'000; payload += 1 + payload / 32) {
        check(*evp, *vector, payload);
        check(*vector, *evp, payload);
    }
}

TEST_CASE("Cipher speed is bytes sealed by the time on the given clock") {
    openssl::OpensslProvider provider;
    Instant now{};
    const auto clock = [&now] { return now += std::chrono::microseconds(10); };
    const auto speed = openssl::measure_cipher_speed(provider, clock, std::chrono::microseconds(100));
    // 16 packets of 1,400 bytes between two readings of this clock.
    CHECK(speed.aes_gcm == Approx(16 * 1400 / 10e-6));
    CHECK(speed.chacha20 == Approx(speed.aes_gcm));
}

TEST_CASE("A busy machine does not change the measured speed of a cipher") {
    openssl::OpensslProvider provider;
    for (std::uint32_t seed = 1; seed <= 50; ++seed) {
        std::mt19937 random(seed);
        Instant now{};
        // Other work interrupts three of four windows, for up to 8 ms.
        const auto clock = [&] {
            now += std::chrono::microseconds(10);
            if (random() % 4 != 0) now += std::chrono::microseconds(random() % 8000);
            return now;
        };
        const auto speed = openssl::measure_cipher_speed(provider, clock, std::chrono::seconds(1));
        CHECK(speed.aes_gcm == Approx(16 * 1400 / 10e-6));
        CHECK(speed.chacha20 == Approx(speed.aes_gcm));
    }
}

TEST_CASE("Of two ciphers that are about as fast the processor's own is chosen") {
    for (const double other : {0.9, 1.0, 1.1, 1.2}) {
        const auto with = openssl::favour({1e9, other * 1e9}, true);
        CHECK(with.aes_gcm > with.chacha20);
        const auto without = openssl::favour({other * 1e9, 1e9}, false);
        CHECK(without.chacha20 > without.aes_gcm);
    }
    const auto much_faster = openssl::favour({1e9, 1.5e9}, true);
    CHECK(much_faster.chacha20 > much_faster.aes_gcm);
}
