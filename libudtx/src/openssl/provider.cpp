#include "openssl/provider.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <new>
#include <vector>

#include "openssl/evp_aead.hpp"
#include "openssl/handles.hpp"
#include "openssl/vector_aead.hpp"

namespace udtx::openssl {
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

}  // namespace udtx::openssl
