// Measures which AEAD is faster on this machine at the size of our packets.
#pragma once

#include <functional>

#include "udtx/core/crypto.hpp"
#include "udtx/time.hpp"

namespace udtx::openssl {

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
