// Owns the dependencies of an endpoint in a real process: ciphers and their speed here, handshakes, randomness.
#pragma once

#include <memory>
#include <optional>

#include "openssl/provider.hpp"
#include "openssl/tls_handshake.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"
#include "udtx/system_rng.hpp"

namespace udtx::io {

/// It must outlive the endpoint.
class EndpointDeps {
  public:
    /// Does the work that needs no key, takes a few milliseconds and happens once per process. Without this call make()
    /// does it.
    static void prepare();
    static Result<std::unique_ptr<EndpointDeps>> make(const Credentials& credentials);
    EndpointDeps(const EndpointDeps&) = delete;
    EndpointDeps& operator=(const EndpointDeps&) = delete;

    [[nodiscard]] proto::EndpointDeps view() const { return view_; }

    /// What depends on the credentials.
    struct Keys {
        std::unique_ptr<openssl::TlsHandshakeFactory> handshakes;
        std::optional<crypto::Secret> hello;
        std::optional<crypto::Secret> reset;
    };
    static Result<Keys> make_keys(const Credentials& credentials);
    /// Takes other keys into view(). Returns the earlier ones, which the endpoint uses until it has the new ones.
    [[nodiscard]] Keys exchange(Keys keys);

  private:
    explicit EndpointDeps(Keys keys);

    openssl::OpensslProvider provider_;
    SystemRng rng_;
    std::unique_ptr<openssl::TlsHandshakeFactory> handshakes_;
    proto::EndpointDeps view_;
};

}  // namespace udtx::io
