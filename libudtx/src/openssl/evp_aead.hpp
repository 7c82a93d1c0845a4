// Implements crypto::Aead with OpenSSL's EVP interface.
#pragma once

#include <memory>
#include <span>

#include "openssl/handles.hpp"
#include "udtx/core/crypto.hpp"

namespace udtx::openssl {

/// `algorithm`: AES-256-GCM or ChaCha20-Poly1305. The caller may free it after the call.
[[nodiscard]] std::unique_ptr<crypto::Aead> make_evp_aead(const EVP_CIPHER* algorithm, std::span<const std::byte> key);

}  // namespace udtx::openssl
