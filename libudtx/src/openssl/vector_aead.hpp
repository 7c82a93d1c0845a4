// Ciphers of Intel's Multi-Buffer library (Debian: libipsec-mb-dev, a build option). For a packet of 1,442 bytes its
// AES-256-GCM takes half the time of OpenSSL 3.0, which looks up its parameters by name each time. With instructions
// for several AES blocks at once (VAES with AVX-512) it takes a quarter. ChaCha20-Poly1305 gains only with wide
// multiplication (AVX-512 IFMA).
#pragma once

#include <memory>
#include <span>

#include "udtx/core/crypto.hpp"

namespace udtx::openssl {

/// Null if the build or the processor lacks it. For AES also null if OPENSSL_ia32cap hides the processor's AES from
/// OpenSSL: a user who sets that wants to test without AES.
[[nodiscard]] std::unique_ptr<crypto::Aead> make_vector_aead(crypto::Cipher cipher, std::span<const std::byte> key);

}  // namespace udtx::openssl
