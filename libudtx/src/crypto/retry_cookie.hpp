// Stateless proof that a client receives at its address. The server keeps nothing about the client before that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "udtx/address.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/core/rng.hpp"
#include "udtx/ids.hpp"
#include "udtx/time.hpp"

namespace udtx::crypto {

/// Seconds of issue (8), key generation (1), HMAC-SHA256 truncated to 16 bytes. The HMAC covers both fields, the
/// client's address and its original destination id.
inline constexpr std::size_t kCookieBytes = 25;
using Cookie = std::array<std::byte, kCookieBytes>;

class CookieJar {
  public:
    static constexpr Duration kLifetime = std::chrono::seconds(10);
    static constexpr Duration kKeyPeriod = std::chrono::seconds(60);  // > kLifetime: two keys cover every cookie

    CookieJar(Provider& provider, Rng& rng);
    ~CookieJar();
    CookieJar(const CookieJar&) = delete;
    CookieJar& operator=(const CookieJar&) = delete;

    [[nodiscard]] Cookie make(Instant now, const Address& client, ConnectionId original_destination);
    /// True for an unaltered cookie of this jar that is younger than kLifetime and was made for this address, port and
    /// id.
    [[nodiscard]] bool check(Instant now, const Address& client, ConnectionId original_destination,
                             std::span<const std::byte> token) const;

  private:
    using Mac = std::array<std::byte, 16>;
    [[nodiscard]] Mac mac(const Secret& key, std::span<const std::byte> clear, const Address& client,
                          ConnectionId original_destination) const;
    void rotate_if_due(Instant now);

    Provider& provider_;
    Rng& rng_;
    std::array<Secret, 2> keys_{};  // index: generation mod 2
    std::uint8_t generation_ = 0;
    bool started_ = false;
    Instant key_since_{};
};

}  // namespace udtx::crypto
