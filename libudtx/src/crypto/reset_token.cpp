#include "crypto/reset_token.hpp"

#include <algorithm>
#include <cstdint>

#include "crypto/bytes.hpp"

namespace udtx::crypto {

ResetToken make_reset_token(Provider& provider, const Secret& key, ConnectionId server_id) {
    std::array<std::byte, sizeof(std::uint64_t)> input{};
    put_big_endian(std::span<std::byte>(input), server_id.value);
    const Secret full = provider.hmac_sha256(key, input);
    ResetToken token{};
    std::copy_n(full.begin(), token.size(), token.begin());
    return token;
}

}  // namespace udtx::crypto
