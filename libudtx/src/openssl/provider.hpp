// Implements crypto::Provider with OpenSSL.
#pragma once

#include <memory>
#include <span>

#include "udtx/core/crypto.hpp"

namespace udtx::openssl {

/// Stateless except for the fetched algorithms. Threads may share it.
class OpensslProvider final : public crypto::Provider {
  public:
    OpensslProvider();
    ~OpensslProvider() override;
    OpensslProvider(const OpensslProvider&) = delete;
    OpensslProvider& operator=(const OpensslProvider&) = delete;

    [[nodiscard]] std::unique_ptr<crypto::Aead> make_aead(crypto::Cipher cipher,
                                                          std::span<const std::byte> key) override;
    crypto::Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> key_material) override;
    void hkdf_expand(const crypto::Secret& prk, std::span<const std::byte> info, std::span<std::byte> out) override;
    crypto::Secret hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> data) override;

  private:
    struct Algorithms;
    std::unique_ptr<Algorithms> algorithms_;
};

}  // namespace udtx::openssl
