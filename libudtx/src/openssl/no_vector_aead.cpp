// The implementation for builds without Intel's library.
#include "openssl/vector_aead.hpp"

namespace udtx::openssl {

std::unique_ptr<crypto::Aead> make_vector_aead(crypto::Cipher /*cipher*/, std::span<const std::byte> /*key*/) {
    return nullptr;
}

}  // namespace udtx::openssl
