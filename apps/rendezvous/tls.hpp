// TLS between an end and the relay. It hides which number an end asks for from other hosts on the path. Neither side
// trusts the other by it: the relay's key is made at its start, and SPAKE2 protects what the ends tell each other.
#pragma once

#include "rendezvous/handles.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// With a new key and a certificate for it. internal: OpenSSL lacks an algorithm.
[[nodiscard]] Result<TlsContextPtr> make_relay_tls();
/// Accepts each certificate.
[[nodiscard]] Result<TlsContextPtr> make_client_tls();

/// Lets the system notice that the other side has gone, and keeps the mappings of NATs.
void keep_alive(int socket) noexcept;

}  // namespace udtx::apps
