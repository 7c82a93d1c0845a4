#include "sim/crypto_kit.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "openssl/provider.hpp"
#include "openssl/tls_handshake.hpp"
#include "udtx/credentials.hpp"

namespace udtx::sim {

struct CryptoKit::Parts {
    openssl::OpensslProvider provider;
    std::unique_ptr<openssl::TlsHandshakeFactory> handshakes;
};

CryptoKit::CryptoKit(std::uint8_t key_number) : parts_(std::make_unique<Parts>()) {
    std::array<std::byte, Credentials::kPskBytes> key{};
    key.fill(static_cast<std::byte>(key_number));
    auto made = openssl::TlsHandshakeFactory::make(Credentials::from_psk(key));
    if (!made) throw std::runtime_error(made.error().message);
    parts_->handshakes = std::move(made).value();
}

CryptoKit::~CryptoKit() = default;
crypto::Provider& CryptoKit::provider() noexcept { return parts_->provider; }
crypto::HandshakeFactory& CryptoKit::handshakes() noexcept { return *parts_->handshakes; }

}  // namespace udtx::sim
