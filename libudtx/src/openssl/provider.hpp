// Ciphers and hashes of OpenSSL, and their speed.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "openssl/handles.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/rate.hpp"

namespace udtx::openssl {

// Implements crypto::Aead with OpenSSL's EVP interface.

/// `algorithm`: AES-256-GCM or ChaCha20-Poly1305. The caller may free it after the call.
[[nodiscard]] std::unique_ptr<crypto::Aead> make_evp_aead(const EVP_CIPHER* algorithm, std::span<const std::byte> key);

// Implements crypto::Provider with OpenSSL.

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

// Measures which AEAD is faster on this machine at the size of our packets.

struct CipherSpeed {
    double aes_gcm = 0.0;  ///< bytes/s, sealing packets of 1,400 bytes
    double chacha20 = 0.0;
};

/// True if the processor has instructions for AES and for GCM's multiplication.
[[nodiscard]] bool has_aes_instructions() noexcept;

/// Runs the two ciphers in turn for about `budget` in all, in windows of a few packets. The best window of each counts,
/// because an interruption can only make a window slower. `clock` returns the current time.
[[nodiscard]] CipherSpeed measure_cipher_speed(crypto::Provider& provider, const std::function<Instant()>& clock,
                                               Duration budget = std::chrono::milliseconds(2));

/// Adds a quarter to the speed of the cipher that suits the processor: AES if it has instructions for it, else
/// ChaCha20. So the choice between two about equally fast ciphers is the same each time.
[[nodiscard]] CipherSpeed favour(CipherSpeed measured, bool aes_instructions) noexcept;

/// The speeds that an endpoint reports to its peer: measured, then adjusted by favour().
[[nodiscard]] CipherSpeed rate_ciphers(crypto::Provider& provider, const std::function<Instant()>& clock);

}  // namespace udtx::openssl
