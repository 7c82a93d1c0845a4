#include "io/endpoint_deps.hpp"

#include <utility>

#include "openssl/cipher_speed.hpp"
#include "openssl/credentials_data.hpp"
#include "udtx/monotonic_clock.hpp"

namespace udtx::io {
namespace {

/// Measured once per process.
const openssl::CipherSpeed& cipher_speed(crypto::Provider& provider) {
    static const openssl::CipherSpeed speed = openssl::rate_ciphers(provider, monotonic_now);
    return speed;
}

}  // namespace

void EndpointDeps::prepare() {
    openssl::OpensslProvider provider;
    static_cast<void>(cipher_speed(provider));
}

Result<std::unique_ptr<EndpointDeps>> EndpointDeps::make(const Credentials& credentials) {
    auto handshakes = openssl::TlsHandshakeFactory::make(credentials);
    if (!handshakes) return handshakes.error();
    return std::unique_ptr<EndpointDeps>(new EndpointDeps(std::move(*handshakes), credentials));
}

EndpointDeps::EndpointDeps(std::unique_ptr<openssl::TlsHandshakeFactory> handshakes, const Credentials& credentials)
    : handshakes_(std::move(handshakes)) {
    view_.provider = &provider_;
    view_.handshakes = handshakes_.get();
    view_.rng = &rng_;
    view_.hello_key = openssl::hello_key(provider_, credentials);
    view_.reset_key = openssl::reset_key(provider_, credentials);
    view_.aes_gcm_speed = cipher_speed(provider_).aes_gcm;
    view_.chacha20_speed = cipher_speed(provider_).chacha20;
}

}  // namespace udtx::io
