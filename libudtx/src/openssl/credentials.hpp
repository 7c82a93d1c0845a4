// The data that copies of a Credentials handle share.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <optional>
#include <set>

#include "openssl/handles.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/credentials.hpp"

namespace udtx::openssl {

/// Exactly one of psk and identity is set.
struct CredentialsData {
    using Psk = std::array<std::byte, Credentials::kPskBytes>;

    CredentialsData() = default;
    CredentialsData(const CredentialsData& other);
    CredentialsData& operator=(const CredentialsData&) = delete;
    ~CredentialsData();

    std::optional<Psk> psk;
    KeyPtr identity;
    std::set<PublicKey> trusted;
};

/// The key for proofs by a pre-shared key outside of TLS (crypto/proofs.hpp); nullopt with an identity.
[[nodiscard]] std::optional<crypto::Secret> hello_key(crypto::Provider& provider, const Credentials& credentials);

/// The key of stateless reset tokens (crypto/proofs.hpp). A restarted server derives the same key as long as its
/// own key is the same.
[[nodiscard]] std::optional<crypto::Secret> reset_key(crypto::Provider& provider, const Credentials& credentials);

/// The raw public key; nullopt unless `key` is an Ed25519 key.
[[nodiscard]] std::optional<PublicKey> raw_public_key(const EVP_PKEY* key);

}  // namespace udtx::openssl
