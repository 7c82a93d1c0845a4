#include "proto/reset_replies.hpp"

#include <algorithm>

#include "crypto/wipe.hpp"

namespace udtx::proto {

ResetReplies::~ResetReplies() { crypto::wipe(key_); }

crypto::ResetToken ResetReplies::token_for(ConnectionId id) const {
    return crypto::make_reset_token(provider_, key_, id);
}

std::optional<ResetBytes> ResetReplies::answer(Instant now, ConnectionId id, std::span<const std::byte> packet) {
    if (packet.size() <= kResetBytes) return std::nullopt;
    Answered& last = answered_[id.value % kRemembered];
    if (last.at && last.id == id && now - *last.at < kSpacing) return std::nullopt;
    if (credited_) {
        const double seconds = std::chrono::duration<double>(now - *credited_).count();
        credit_ = std::min(credit_ + seconds * kPerSecond, kBurst);
    }
    credited_ = now;
    if (credit_ < 1.0) return std::nullopt;
    credit_ -= 1.0;
    last = {id, now};
    ResetBytes reply{};
    std::copy_n(packet.begin(), wire::kShortHeaderBytes, reply.begin());
    const auto token = token_for(id);
    std::copy(token.begin(), token.end(), reply.begin() + wire::kShortHeaderBytes);
    return reply;
}

}  // namespace udtx::proto
