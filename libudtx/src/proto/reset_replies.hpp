// A server's answers to packets of connections that it does not know: the packet's header and the token of its
// connection id. Stateless, but for what bounds them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "crypto/reset_token.hpp"
#include "udtx/ids.hpp"
#include "udtx/time.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

/// As large as the smallest packet. Only what is larger is answered: no answer is ever answered, and none is larger
/// than what it answers.
inline constexpr std::size_t kResetBytes = wire::kShortHeaderBytes + crypto::kResetTokenBytes;
using ResetBytes = std::array<std::byte, kResetBytes>;

class ResetReplies {
  public:
    /// So many in a row, and so many a second; of one connection so often.
    static constexpr double kBurst = 100.0;
    static constexpr double kPerSecond = 1000.0;
    static constexpr Duration kSpacing = std::chrono::milliseconds(50);

    ResetReplies(crypto::Provider& provider, const crypto::Secret& key) : provider_(provider), key_(key) {}
    ~ResetReplies();
    ResetReplies(const ResetReplies&) = delete;
    ResetReplies& operator=(const ResetReplies&) = delete;

    [[nodiscard]] crypto::ResetToken token_for(ConnectionId id) const;
    /// The answer, unless the packet is too small or too many were answered.
    [[nodiscard]] std::optional<ResetBytes> answer(Instant now, ConnectionId id, std::span<const std::byte> packet);

  private:
    /// By the id's low bits: the last one that was answered.
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
