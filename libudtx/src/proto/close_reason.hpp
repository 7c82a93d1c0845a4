// Reasons for the end of a connection on the wire, and stateless resets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "crypto/proofs.hpp"
#include "udtx/core/connection.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "wire/frame.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

// Transport close codes on the wire, and what they mean to an application.

enum class CloseCode : std::uint64_t {
    none = 0,
    internal = 1,
    protocol = 2,        ///< a rule was broken, or a frame was malformed
    authentication = 3,  ///< the handshake refused the peer's credentials
    no_room = 4,         ///< too many connections
    limits = 5,          ///< AEAD limits reached
};

[[nodiscard]] CloseCode close_code_for(ErrorCode code) noexcept;
[[nodiscard]] CloseReason close_reason_from_peer(const wire::CloseFrame& frame);

// A server's answers to packets of unknown connections: the packet's header and the token of its connection id. The
// only state is that which bounds the answers.

/// Size of an answer: that of the smallest packet. Only larger packets are answered. So no answer is answered in turn,
/// and no answer is larger than its cause.
inline constexpr std::size_t kResetBytes = wire::kShortHeaderBytes + crypto::kResetTokenBytes;
using ResetBytes = std::array<std::byte, kResetBytes>;

class ResetReplies {
  public:
    /// Bounds: answers in a row, answers per second, and time between two answers for one connection.
    static constexpr double kBurst = 100.0;
    static constexpr double kPerSecond = 1000.0;
    static constexpr Duration kSpacing = std::chrono::milliseconds(50);

    ResetReplies(crypto::Provider& provider, const crypto::Secret& key) : provider_(provider), key_(key) {}
    ~ResetReplies();
    ResetReplies(const ResetReplies&) = delete;
    ResetReplies& operator=(const ResetReplies&) = delete;

    /// The answer; nullopt if the packet is too small or too many were answered.
    [[nodiscard]] std::optional<ResetBytes> answer(Instant now, ConnectionId id, std::span<const std::byte> packet);

  private:
    /// The last id that was answered, for each value of the id's low bits.
    struct Answered {
        ConnectionId id;
        std::optional<Instant> at;
    };
    static constexpr std::size_t kRemembered = 256;

    crypto::Provider& provider_;
    crypto::Secret key_;
    std::array<Answered, kRemembered> answered_{};
    double credit_ = kBurst;
    std::optional<Instant> credited_;
};

}  // namespace udtx::proto
