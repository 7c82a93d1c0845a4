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
    auto keys = make_keys(credentials);
    if (!keys) return keys.error();
    return std::unique_ptr<EndpointDeps>(new EndpointDeps(std::move(*keys)));
}

Result<EndpointDeps::Keys> EndpointDeps::make_keys(const Credentials& credentials) {
    auto handshakes = openssl::TlsHandshakeFactory::make(credentials);
    if (!handshakes) return handshakes.error();
    openssl::OpensslProvider provider;
    return Keys{std::move(*handshakes), openssl::hello_key(provider, credentials),
                openssl::reset_key(provider, credentials)};
}

EndpointDeps::EndpointDeps(Keys keys) {
    view_.provider = &provider_;
    view_.rng = &rng_;
    view_.aes_gcm_speed = cipher_speed(provider_).aes_gcm;
    view_.chacha20_speed = cipher_speed(provider_).chacha20;
    static_cast<void>(exchange(std::move(keys)));
}

EndpointDeps::Keys EndpointDeps::exchange(Keys keys) {
    Keys earlier{std::exchange(handshakes_, std::move(keys.handshakes)), view_.hello_key, view_.reset_key};
    view_.handshakes = handshakes_.get();
    view_.hello_key = keys.hello;
    view_.reset_key = keys.reset;
    return earlier;
}

}  // namespace udtx::io
