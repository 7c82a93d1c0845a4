// Stateless proofs: cookies, proofs of a pre-shared key, reset tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_set>

#include "udtx/address.hpp"
#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx::crypto {

// Stateless proof that a client receives at its address. The server keeps nothing about the client before that.

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

// Saves the cookie's round trip for a client that shares a key with the server: its first packet proves that it has the
// key. The proof says nothing about the address. Until the handshake is complete, the server sends little to that
// address (docs/using/security.md).

/// HMAC-SHA256 over the client's original destination id, cut to 16 bytes. Both ends derive its key from their shared
/// key. The length differs from a cookie's, which tells them apart.
inline constexpr std::size_t kHelloProofBytes = 16;
using HelloProof = std::array<std::byte, kHelloProofBytes>;

[[nodiscard]] HelloProof make_hello_proof(Provider& provider, const Secret& key, ConnectionId original_destination);

/// The server's side. It accepts each proof once.
class HelloProofs {
  public:
    /// How many used proofs are remembered. Someone who recorded an older proof can use it once more.
    static constexpr std::size_t kRemembered = 4096;

    HelloProofs(Provider& provider, const Secret& key) : provider_(provider), key_(key) {}
    ~HelloProofs();
    HelloProofs(const HelloProofs&) = delete;
    HelloProofs& operator=(const HelloProofs&) = delete;

    [[nodiscard]] bool check(ConnectionId original_destination, std::span<const std::byte> token) const;
    /// Call it when a handshake has started with this id's proof.
    void remember(ConnectionId original_destination);

  private:
    Provider& provider_;
    Secret key_;
    std::unordered_set<ConnectionId> used_;
    std::deque<ConnectionId> order_;  // the elements of used_, oldest first
};

// A restarted server shows this token to a client of its earlier process. It proves that the connection is gone and
// that the same server says so (docs/using/security.md).

/// HMAC-SHA256 over the server's connection id, cut to 16 bytes. Its key outlives the process.
inline constexpr std::size_t kResetTokenBytes = 16;
using ResetToken = std::array<std::byte, kResetTokenBytes>;

[[nodiscard]] ResetToken make_reset_token(Provider& provider, const Secret& key, ConnectionId server_id);

}  // namespace udtx::crypto
