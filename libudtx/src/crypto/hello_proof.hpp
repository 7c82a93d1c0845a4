// What spares a client that shares a key with the server the cookie's round trip: its first packet shows that it has
// the key. It says nothing about the address; what goes there before the handshake is done is small
// (docs/using/security.md).
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <unordered_set>

#include "udtx/core/crypto.hpp"
#include "udtx/ids.hpp"

namespace udtx::crypto {

/// HMAC-SHA256 under a key that both ends derive from the one they share, over the client's original destination id,
/// cut to 16 bytes. Another length than a cookie's.
inline constexpr std::size_t kHelloProofBytes = 16;
using HelloProof = std::array<std::byte, kHelloProofBytes>;

[[nodiscard]] HelloProof make_hello_proof(Provider& provider, const Secret& key, ConnectionId original_destination);

/// A server's side: each proof counts once.
class HelloProofs {
  public:
    /// Of the latest proofs; one that is older can be used once more by who has seen it.
    static constexpr std::size_t kRemembered = 4096;

    HelloProofs(Provider& provider, const Secret& key) : provider_(provider), key_(key) {}
    ~HelloProofs();
    HelloProofs(const HelloProofs&) = delete;
    HelloProofs& operator=(const HelloProofs&) = delete;

    [[nodiscard]] bool check(ConnectionId original_destination, std::span<const std::byte> token) const;
    /// A handshake has begun with it.
    void remember(ConnectionId original_destination);

  private:
    Provider& provider_;
    Secret key_;
    std::unordered_set<ConnectionId> used_;
    std::deque<ConnectionId> order_;  // of used_, oldest first
};

}  // namespace udtx::crypto
