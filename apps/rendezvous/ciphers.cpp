#include "rendezvous/ciphers.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>

#include "rendezvous/handles.hpp"

namespace udtx::apps {
namespace {

// scrypt: memory is 128 * r * N bytes (RFC 7914, section 2).
constexpr std::uint64_t kScryptN = std::uint64_t{1} << 14U;
constexpr std::uint64_t kScryptR = 8;
constexpr std::uint64_t kScryptP = 1;
constexpr std::uint64_t kScryptMemory = std::uint64_t{64} << 20U;

constexpr std::size_t kSealKeyBytes = 32;

/// The parameter does not change the bytes, although its type is not const.
OSSL_PARAM octet_param(const char* name, std::span<const std::byte> bytes) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace

void wipe(std::span<std::byte> bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

Secret32 sha256(std::span<const std::byte> data) {
    Secret32 out;
    unsigned written = 0;
    must(EVP_Digest(data.data(), data.size(), as_uchar(out.bytes().data()), &written, EVP_sha256(), nullptr) == 1);
    return out;
}

Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) {
    Digest out{};
    unsigned written = 0;
    must(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), as_uchar(data.data()), data.size(),
              as_uchar(out.data()), &written) != nullptr);
    return out;
}

void hkdf_sha256(std::span<const std::byte> secret, std::span<const std::byte> info, std::span<std::byte> out) {
    const KdfPtr kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
    must(kdf != nullptr);
    const KdfContextPtr context(EVP_KDF_CTX_new(kdf.get()));
    std::array<char, 7> digest{"SHA256"};
    const std::array<OSSL_PARAM, 4> params{OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
                                           octet_param(OSSL_KDF_PARAM_KEY, secret),
                                           octet_param(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
    must(context != nullptr && EVP_KDF_derive(context.get(), as_uchar(out.data()), out.size(), params.data()) == 1);
}

void scrypt(std::string_view password, std::string_view salt, std::span<std::byte> out) {
    must(EVP_PBE_scrypt(password.data(), password.size(), as_uchar(as_bytes_of(salt).data()), salt.size(), kScryptN,
                        kScryptR, kScryptP, kScryptMemory, as_uchar(out.data()), out.size()) == 1);
}

bool equal_secrets(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

struct Sealer::Context {
    SecretBytes<kSealKeyBytes> key;
    CipherContextPtr cipher{EVP_CIPHER_CTX_new()};
};

Sealer::Sealer(const Secret32& key, std::string_view label) : context_(std::make_unique<Context>()) {
    must(context_->cipher != nullptr);
    hkdf_sha256(key.bytes(), as_bytes_of(label), context_->key.bytes());
}
Sealer::~Sealer() = default;
Sealer::Sealer(Sealer&&) noexcept = default;
Sealer& Sealer::operator=(Sealer&&) noexcept = default;

std::array<std::byte, 12> Sealer::nonce() const noexcept {
    std::array<std::byte, 12> out{};
    for (std::size_t i = 0; i < sizeof next_; ++i) out[11 - i] = static_cast<std::byte>(next_ >> (8 * i));
    return out;
}

std::vector<std::byte> Sealer::seal(std::span<const std::byte> message) {
    std::vector<std::byte> out(message.size() + kTagBytes);
    EVP_CIPHER_CTX* const cipher = context_->cipher.get();
    int written = 0;
    must(EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), nullptr, as_uchar(context_->key.bytes().data()),
                            as_uchar(nonce().data())) == 1);
    must(EVP_EncryptUpdate(cipher, as_uchar(out.data()), &written, as_uchar(message.data()),
                           static_cast<int>(message.size())) == 1);
    must(EVP_EncryptFinal_ex(cipher, as_uchar(out.data()) + written, &written) == 1);
    must(EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, kTagBytes, out.data() + message.size()) == 1);
    ++next_;
    return out;
}

std::optional<std::vector<std::byte>> Sealer::open(std::span<const std::byte> sealed) {
    if (sealed.size() < kTagBytes) return std::nullopt;
    std::vector<std::byte> out(sealed.size() - kTagBytes);
    std::array<std::byte, kTagBytes> tag{};
    std::ranges::copy(sealed.last(kTagBytes), tag.begin());
    EVP_CIPHER_CTX* const cipher = context_->cipher.get();
    int written = 0;
    must(EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), nullptr, as_uchar(context_->key.bytes().data()),
                            as_uchar(nonce().data())) == 1);
    must(EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1);
    must(EVP_DecryptUpdate(cipher, as_uchar(out.data()), &written, as_uchar(sealed.data()),
                           static_cast<int>(out.size())) == 1);
    std::array<unsigned char, 16> rest{};
    if (EVP_DecryptFinal_ex(cipher, rest.data(), &written) != 1) {
        wipe(out);
        return std::nullopt;
    }
    ++next_;
    return out;
}

}  // namespace udtx::apps
