// A cryptographic library without cryptography, written against the public interfaces only. Its tags are checksums, and
// its keys and secrets are mixed numbers. It detects damage and wrong keys, but hides nothing.
#pragma once

#include "udtx/core/crypto.hpp"

namespace plain {

class Provider final : public udtx::crypto::Provider {
  public:
    std::unique_ptr<udtx::crypto::Aead> make_aead(udtx::crypto::Cipher cipher, std::span<const std::byte> key) override;
    udtx::crypto::Secret hkdf_extract(std::span<const std::byte> salt,
                                      std::span<const std::byte> key_material) override;
    void hkdf_expand(const udtx::crypto::Secret& prk, std::span<const std::byte> info,
                     std::span<std::byte> out) override;
    udtx::crypto::Secret hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) override;
};

/// Each side sends its parameters. The client adds a final byte, so that the server completes last, as with TLS.
class HandshakeFactory final : public udtx::crypto::HandshakeFactory {
  public:
    std::unique_ptr<udtx::crypto::Handshake> make_client(std::vector<std::byte> parameters) override;
    std::unique_ptr<udtx::crypto::Handshake> make_server(SelectParameters select) override;
};

}  // namespace plain
