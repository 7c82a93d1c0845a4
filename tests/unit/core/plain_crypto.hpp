// A cryptographic library without cryptography, made from the public contracts: its tags are checksums, its keys and
// secrets are mixed numbers. It shows damage and a wrong key, and hides nothing.
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

/// Each side says its parameters; the client adds a last byte, so that the server is complete last, as with TLS.
class HandshakeFactory final : public udtx::crypto::HandshakeFactory {
  public:
    std::unique_ptr<udtx::crypto::Handshake> make_client(std::vector<std::byte> parameters) override;
    std::unique_ptr<udtx::crypto::Handshake> make_server(SelectParameters select) override;
};

}  // namespace plain
