// The real cryptography for simulated hosts: OpenSSL with one pre-shared key. Its randomness changes key bytes only.
// The size and number of packets stay the same, so that runs are reproducible.
#pragma once

#include <cstdint>
#include <memory>

#include "udtx/core/crypto.hpp"

namespace udtx::sim {

class CryptoKit {
  public:
    /// Kits with the same number hold the same pre-shared key.
    explicit CryptoKit(std::uint8_t key_number = 1);
    ~CryptoKit();
    CryptoKit(const CryptoKit&) = delete;
    CryptoKit& operator=(const CryptoKit&) = delete;

    [[nodiscard]] crypto::Provider& provider() noexcept;
    [[nodiscard]] crypto::HandshakeFactory& handshakes() noexcept;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace udtx::sim
