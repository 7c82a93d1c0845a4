// AES-256-GCM by Intel's Multi-Buffer library (Debian: libipsec-mb-dev, an option of the build), whose cipher takes the
// instructions for several AES blocks at once (VAES with AVX-512) that OpenSSL uses from 3.1 on only.
#pragma once

#include <memory>
#include <span>

#include "crypto/provider.hpp"

namespace udtx::openssl {

/// Null where the build or the processor does not have it, or the processor's AES is hidden from OpenSSL
/// (OPENSSL_ia32cap): who does that wants to see what happens without.
[[nodiscard]] std::unique_ptr<crypto::Aead> make_vector_aead(std::span<const std::byte> key);

}  // namespace udtx::openssl
