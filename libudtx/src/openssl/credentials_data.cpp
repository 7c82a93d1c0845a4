#include "openssl/credentials_data.hpp"

#include <openssl/crypto.h>

#include "crypto/packet_key.hpp"

namespace udtx::openssl {

CredentialsData::CredentialsData(const CredentialsData& other) : psk(other.psk), trusted(other.trusted) {
    if (other.identity && EVP_PKEY_up_ref(other.identity.get()) == 1) identity.reset(other.identity.get());
}

CredentialsData::~CredentialsData() {
    if (psk) OPENSSL_cleanse(psk->data(), psk->size());
}

std::optional<crypto::Secret> hello_key(crypto::Provider& provider, const Credentials& credentials) {
    const auto& psk = credentials.data()->psk;
    if (!psk) return std::nullopt;
    crypto::Secret key{};
    crypto::expand_label(provider, *psk, "hello proof", key);
    return key;
}

std::optional<crypto::Secret> reset_key(crypto::Provider& provider, const Credentials& credentials) {
    crypto::Secret material{};
    const auto& data = *credentials.data();
    std::size_t bytes = material.size();
    if (data.psk) {
        material = *data.psk;
    } else if (!data.identity ||
               EVP_PKEY_get_raw_private_key(data.identity.get(), as_uchar(material.data()), &bytes) != 1 ||
               bytes != material.size()) {
        return std::nullopt;
    }
    crypto::Secret key{};
    crypto::expand_label(provider, material, "stateless reset", key);
    OPENSSL_cleanse(material.data(), material.size());
    return key;
}

std::optional<PublicKey> raw_public_key(const EVP_PKEY* key) {
    PublicKey result;
    std::size_t bytes = result.bytes.size();
    if (key == nullptr || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519 ||
        EVP_PKEY_get_raw_public_key(key, as_uchar(result.bytes.data()), &bytes) != 1 || bytes != result.bytes.size()) {
        return std::nullopt;
    }
    return result;
}

}  // namespace udtx::openssl
