// A restarted server shows this token to a client of its earlier process. It proves that the connection is gone and
// that the same server says so (docs/using/security.md).
#pragma once

#include <array>
#include <cstddef>

#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"

namespace udtx::crypto {

/// HMAC-SHA256 over the server's connection id, cut to 16 bytes. Its key outlives the process.
inline constexpr std::size_t kResetTokenBytes = 16;
using ResetToken = std::array<std::byte, kResetTokenBytes>;

[[nodiscard]] ResetToken make_reset_token(Provider& provider, const Secret& key, ConnectionId server_id);

}  // namespace udtx::crypto
