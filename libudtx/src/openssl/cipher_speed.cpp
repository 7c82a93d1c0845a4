#include "openssl/cipher_speed.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#if defined(__linux__) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace udtx::openssl {
namespace {

constexpr std::size_t kPacketBytes = 1400;
constexpr std::size_t kHeaderBytes = 14;
constexpr int kPacketsPerWindow = 16;
constexpr int kLeastWindows = 4;
constexpr double kFavour = 1.25;

class Contestant {
  public:
    Contestant(crypto::Provider& provider, crypto::Cipher cipher)
        : aead_(provider.make_aead(cipher, std::array<std::byte, crypto::kKeyBytes>{})), packet_(kPacketBytes) {
        aead_->seal({}, packet_, kHeaderBytes);  // warms the caches and runs lazy initialisation
    }
    void run_window(const std::function<Instant()>& clock) {
        const Instant start = clock();
        for (int i = 0; i < kPacketsPerWindow; ++i) aead_->seal({}, packet_, kHeaderBytes);
        const double seconds = to_seconds(clock() - start);
        if (seconds > 0) best_ = std::max(best_, kPacketBytes * kPacketsPerWindow / seconds);
    }
    [[nodiscard]] double best() const noexcept { return best_; }

  private:
    std::unique_ptr<crypto::Aead> aead_;
    std::vector<std::byte> packet_;
    double best_ = 0.0;
};

}  // namespace

bool has_aes_instructions() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#elif defined(__linux__) && defined(__aarch64__)
    constexpr unsigned long kBoth = HWCAP_AES | HWCAP_PMULL;
    return (getauxval(AT_HWCAP) & kBoth) == kBoth;
#elif defined(__aarch64__) && defined(__APPLE__)
    return true;
#else
    return false;
#endif
}

CipherSpeed measure_cipher_speed(crypto::Provider& provider, const std::function<Instant()>& clock, Duration budget) {
    Contestant aes(provider, crypto::Cipher::aes_256_gcm);
    Contestant chacha(provider, crypto::Cipher::chacha20_poly1305);
    const Instant start = clock();
    for (int window = 0; window < kLeastWindows || clock() - start < budget; ++window) {
        aes.run_window(clock);
        chacha.run_window(clock);
    }
    return {aes.best(), chacha.best()};
}

CipherSpeed favour(CipherSpeed measured, bool aes_instructions) noexcept {
    (aes_instructions ? measured.aes_gcm : measured.chacha20) *= kFavour;
    return measured;
}

CipherSpeed rate_ciphers(crypto::Provider& provider, const std::function<Instant()>& clock) {
    return favour(measure_cipher_speed(provider, clock), has_aes_instructions());
}

}  // namespace udtx::openssl
