// Which AEAD this machine runs faster at the size of our packets.
#pragma once

#include <functional>

#include "crypto/provider.hpp"
#include "udtx/time.hpp"

namespace udtx::openssl {

struct CipherSpeed {
    double aes_gcm = 0.0;  ///< bytes/s, sealing packets of 1,400 bytes
    double chacha20 = 0.0;
};

/// Takes about twice `each`. `clock` gives the time now.
[[nodiscard]] CipherSpeed measure_cipher_speed(crypto::Provider& provider, const std::function<Instant()>& clock,
                                               Duration each = std::chrono::milliseconds(1));

}  // namespace udtx::openssl
