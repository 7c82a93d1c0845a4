// Explains to a user in one line why a TLS handshake failed.
#pragma once

#include "openssl/tls_state.hpp"
#include "udtx/result.hpp"

namespace udtx::openssl {

/// Reads and clears OpenSSL's error queue.
[[nodiscard]] Error describe_failure(const TlsState& state);

}  // namespace udtx::openssl
