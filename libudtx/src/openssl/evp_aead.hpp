// crypto::Aead by EVP.
#pragma once

#include <memory>
#include <span>

#include "crypto/provider.hpp"
#include "openssl/handles.hpp"

namespace udtx::openssl {

/// `algorithm` is AES-256-GCM or ChaCha20-Poly1305 and may go after the call.
[[nodiscard]] std::unique_ptr<crypto::Aead> make_evp_aead(const EVP_CIPHER* algorithm, std::span<const std::byte> key);

}  // namespace udtx::openssl
