// Saves the cookie's round trip for a client that shares a key with the server: its first packet proves that it has the
// key. The proof says nothing about the address. Until the handshake is complete, the server sends little to that
// address (docs/using/security.md).
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

}  // namespace udtx::crypto
