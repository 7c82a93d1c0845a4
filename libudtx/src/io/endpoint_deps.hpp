// Owns the dependencies of an endpoint in a real process: ciphers and their speed here, handshakes, randomness.
#pragma once

#include <memory>

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

  private:
    EndpointDeps(std::unique_ptr<openssl::TlsHandshakeFactory> handshakes, const Credentials& credentials);

    openssl::OpensslProvider provider_;
    SystemRng rng_;
    std::unique_ptr<openssl::TlsHandshakeFactory> handshakes_;
    proto::EndpointDeps view_;
};

}  // namespace udtx::io
