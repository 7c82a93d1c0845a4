// What a server that was started anew shows a client of the old one: that the connection is gone, and that it is the
// same server who says so (docs/using/security.md).
#pragma once

#include <array>
#include <cstddef>

#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"

namespace udtx::crypto {

/// HMAC-SHA256 under a key that outlives the process, over the server's connection id, cut to 16 bytes.
inline constexpr std::size_t kResetTokenBytes = 16;
using ResetToken = std::array<std::byte, kResetTokenBytes>;

[[nodiscard]] ResetToken make_reset_token(Provider& provider, const Secret& key, ConnectionId server_id);

}  // namespace udtx::crypto
