// Which AEAD this machine runs faster at the size of our packets.
#pragma once

#include <functional>

#include "udtx/core/crypto.hpp"
#include "udtx/time.hpp"

namespace udtx::openssl {

struct CipherSpeed {
    double aes_gcm = 0.0;  ///< bytes/s, sealing packets of 1,400 bytes
    double chacha20 = 0.0;
};

/// The processor has instructions for AES and for GCM's multiplication.
[[nodiscard]] bool has_aes_instructions() noexcept;

/// The two take turns for about `budget` in all, in windows of a few packets; each one's best window counts, since
/// being interrupted only ever makes a window slower. `clock` gives the time now.
[[nodiscard]] CipherSpeed measure_cipher_speed(crypto::Provider& provider, const std::function<Instant()>& clock,
                                               Duration budget = std::chrono::milliseconds(2));

/// Adds a quarter to the cipher that suits the processor (AES where it has instructions for it, else ChaCha20), so that
/// the choice between two that are about as fast is the same each time.
[[nodiscard]] CipherSpeed favour(CipherSpeed measured, bool aes_instructions) noexcept;

/// What an endpoint tells its peer: measured and favoured.
[[nodiscard]] CipherSpeed rate_ciphers(crypto::Provider& provider, const std::function<Instant()>& clock);

}  // namespace udtx::openssl
