// Ciphers by Intel's Multi-Buffer library (Debian: libipsec-mb-dev, an option of the build). AES-256-GCM costs a packet
// of 1,442 bytes half of what OpenSSL 3.0 takes, which looks up its parameters by name each time, and a quarter where
// there are instructions for several AES blocks at once (VAES with AVX-512). ChaCha20-Poly1305 gains from those for
// wide multiplication only (AVX-512 IFMA).
#pragma once

#include <memory>
#include <span>

#include "udtx/core/crypto.hpp"

namespace udtx::openssl {

/// Null where the build or the processor does not have it, or, for AES, the processor's AES is hidden from OpenSSL
/// (OPENSSL_ia32cap): who does that wants to see what happens without.
[[nodiscard]] std::unique_ptr<crypto::Aead> make_vector_aead(crypto::Cipher cipher, std::span<const std::byte> key);

}  // namespace udtx::openssl
