#include "openssl/provider.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "openssl/handles.hpp"
#include "openssl/vector_aead.hpp"

#if defined(__linux__) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace udtx::openssl {
namespace {

// Encryption with an initialised context needs no memory, so a failure is our own bug. Continuing would send plaintext.
void require(int result) {
    if (result != 1) std::abort();
}

/// Expands the key once; each packet only sets the nonce.
class EvpAead final : public crypto::Aead {
  public:
    EvpAead(const EVP_CIPHER* algorithm, std::span<const std::byte> key)
        : seal_(make_context(algorithm, key, true)), open_(make_context(algorithm, key, false)) {}

    void seal(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        assert(packet.size() >= header_bytes + crypto::kTagBytes);
        EVP_CIPHER_CTX* const context = seal_.get();
        unsigned char* const data = as_uchar(packet.data());
        unsigned char* const payload = data + header_bytes;
        const auto payload_bytes = static_cast<int>(packet.size() - header_bytes - crypto::kTagBytes);
        int written = 0;
        require(EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, as_uchar(nonce.data())));
        require(EVP_EncryptUpdate(context, nullptr, &written, data, static_cast<int>(header_bytes)));
        if (payload_bytes > 0) require(EVP_EncryptUpdate(context, payload, &written, payload, payload_bytes));
        require(EVP_EncryptFinal_ex(context, payload + payload_bytes, &written));
        require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(crypto::kTagBytes),
                                    payload + payload_bytes));
    }

    bool open(const crypto::Nonce& nonce, std::span<std::byte> packet, std::size_t header_bytes) override {
        if (packet.size() < header_bytes + crypto::kTagBytes) return false;
        EVP_CIPHER_CTX* const context = open_.get();
        unsigned char* const data = as_uchar(packet.data());
        unsigned char* const payload = data + header_bytes;
        const auto payload_bytes = static_cast<int>(packet.size() - header_bytes - crypto::kTagBytes);
        int written = 0;
        require(EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, as_uchar(nonce.data())));
        require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, static_cast<int>(crypto::kTagBytes),
                                    payload + payload_bytes));
        require(EVP_DecryptUpdate(context, nullptr, &written, data, static_cast<int>(header_bytes)));
        if (payload_bytes > 0) require(EVP_DecryptUpdate(context, payload, &written, payload, payload_bytes));
        return EVP_DecryptFinal_ex(context, payload + payload_bytes, &written) == 1;
    }

  private:
    static CipherContextPtr make_context(const EVP_CIPHER* algorithm, std::span<const std::byte> key, bool encrypt) {
        CipherContextPtr context(EVP_CIPHER_CTX_new());
        if (!context) throw std::bad_alloc();
        // The default nonce length of both algorithms is the 12 bytes of crypto::Nonce.
        if (EVP_CipherInit_ex(context.get(), algorithm, nullptr, as_uchar(key.data()), nullptr, encrypt ? 1 : 0) != 1)
            throw std::bad_alloc();
        return context;
    }

    CipherContextPtr seal_;
    CipherContextPtr open_;
};

}  // namespace

std::unique_ptr<crypto::Aead> make_evp_aead(const EVP_CIPHER* algorithm, std::span<const std::byte> key) {
    assert(key.size() == crypto::kKeyBytes);
    return std::make_unique<EvpAead>(algorithm, key);
}

namespace {

constexpr std::size_t kHashBytes = 32;

// Keyed hashing fails only if memory or the default provider is missing. Then the caller fails, and the process
// continues: others may soon free memory.
void require(bool good) {
    if (!good) throw std::bad_alloc();
}

MacContextPtr make_hmac() {
    const MacPtr hmac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
    require(hmac != nullptr);  // EVP_MAC_CTX_new() does not check for null
    MacContextPtr context(EVP_MAC_CTX_new(hmac.get()));
    std::array<char, 7> digest{"SHA256"};
    const std::array<OSSL_PARAM, 2> params{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                                           OSSL_PARAM_construct_end()};
    require(context != nullptr && EVP_MAC_CTX_set_params(context.get(), params.data()) == 1);
    return context;
}

}  // namespace

// The algorithms are fetched once. An implicit fetch at each use takes locks and costs more than sealing a packet.
struct OpensslProvider::Algorithms {
    CipherPtr aes_256_gcm{EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr)};
    CipherPtr chacha20_poly1305{EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr)};
    MacContextPtr hmac_sha256 = make_hmac();  // without a key; copied for each use
};

OpensslProvider::OpensslProvider() : algorithms_(std::make_unique<Algorithms>()) {
    require(algorithms_->aes_256_gcm && algorithms_->chacha20_poly1305);
}

OpensslProvider::~OpensslProvider() = default;

std::unique_ptr<crypto::Aead> OpensslProvider::make_aead(crypto::Cipher cipher, std::span<const std::byte> key) {
    if (auto vector = make_vector_aead(cipher, key)) return vector;
    const bool aes = cipher == crypto::Cipher::aes_256_gcm;
    return make_evp_aead((aes ? algorithms_->aes_256_gcm : algorithms_->chacha20_poly1305).get(), key);
}

crypto::Secret OpensslProvider::hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) {
    const MacContextPtr context(EVP_MAC_CTX_dup(algorithms_->hmac_sha256.get()));
    require(context != nullptr);
    // EVP_MAC_init keeps the previous key if the pointer is null, also if the length is 0.
    const unsigned char none = 0;
    crypto::Secret result{};
    std::size_t written = 0;
    require(EVP_MAC_init(context.get(), key.empty() ? &none : as_uchar(key.data()), key.size(), nullptr) == 1);
    require(EVP_MAC_update(context.get(), as_uchar(data.data()), data.size()) == 1);
    require(EVP_MAC_final(context.get(), as_uchar(result.data()), &written, result.size()) == 1);
    require(written == result.size());
    return result;
}

// RFC 5869, section 2.2.
crypto::Secret OpensslProvider::hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> key_material) {
    return hmac_sha256(salt, key_material);
}

// RFC 5869, section 2.3: T(n) = HMAC(prk, T(n-1) || info || n).
void OpensslProvider::hkdf_expand(const crypto::Secret& prk, std::span<const std::byte> info,
                                  std::span<std::byte> out) {
    assert(out.size() <= 255 * kHashBytes);
    std::vector<std::byte> input;
    crypto::Secret block{};
    unsigned counter = 1;
    for (std::size_t at = 0; at < out.size(); ++counter) {
        input.clear();
        if (at > 0) input.insert(input.end(), block.begin(), block.end());
        input.insert(input.end(), info.begin(), info.end());
        input.push_back(static_cast<std::byte>(counter));
        block = hmac_sha256(prk, input);
        const std::size_t take = std::min(kHashBytes, out.size() - at);
        std::copy_n(block.begin(), take, out.begin() + static_cast<std::ptrdiff_t>(at));
        at += take;
    }
    OPENSSL_cleanse(block.data(), block.size());
    OPENSSL_cleanse(input.data(), input.size());
}

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
