#include "openssl/cipher_speed.hpp"

#include <array>
#include <vector>

namespace udtx::openssl {
namespace {

constexpr std::size_t kPacketBytes = 1400;
constexpr std::size_t kHeaderBytes = 14;
constexpr int kPacketsPerLook = 16;  // packets between two looks at the clock

double measure(crypto::Provider& provider, crypto::Cipher cipher, const std::function<Instant()>& clock,
               Duration each) {
    const std::array<std::byte, crypto::kKeyBytes> key{};
    const auto aead = provider.make_aead(cipher, key);
    std::vector<std::byte> packet(kPacketBytes);
    aead->seal({}, packet, kHeaderBytes);  // warms caches and lazy set-up
    std::uint64_t bytes = 0;
    const Instant start = clock();
    Duration passed{};
    do {
        for (int i = 0; i < kPacketsPerLook; ++i) aead->seal({}, packet, kHeaderBytes);
        bytes += kPacketBytes * kPacketsPerLook;
        passed = clock() - start;
    } while (passed < each);
    return static_cast<double>(bytes) / to_seconds(passed);
}

}  // namespace

CipherSpeed measure_cipher_speed(crypto::Provider& provider, const std::function<Instant()>& clock, Duration each) {
    return {measure(provider, crypto::Cipher::aes_256_gcm, clock, each),
            measure(provider, crypto::Cipher::chacha20_poly1305, clock, each)};
}

}  // namespace udtx::openssl
