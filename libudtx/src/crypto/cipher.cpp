#include "udtx/core/crypto.hpp"

namespace udtx::crypto {

std::string_view to_string(Cipher cipher) noexcept {
    switch (cipher) {
        case Cipher::aes_256_gcm:
            return "aes-256-gcm";
        case Cipher::chacha20_poly1305:
            return "chacha20-poly1305";
    }
    return "unknown";
}

}  // namespace udtx::crypto
