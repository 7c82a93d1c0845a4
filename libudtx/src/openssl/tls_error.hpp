// Why a TLS handshake failed, in one line for a user.
#pragma once

#include "openssl/tls_state.hpp"
#include "udtx/result.hpp"

namespace udtx::openssl {

/// Reads and empties OpenSSL's error queue.
[[nodiscard]] Error describe_failure(const TlsState& state);

}  // namespace udtx::openssl
