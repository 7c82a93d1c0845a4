#include "proto/close_reason.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "crypto/bytes.hpp"

namespace udtx::proto {

CloseCode close_code_for(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::authentication:
            return CloseCode::authentication;
        case ErrorCode::malformed:
        case ErrorCode::protocol:
            return CloseCode::protocol;
        case ErrorCode::no_resources:
            return CloseCode::no_room;
        default:
            return CloseCode::internal;
    }
}

CloseReason close_reason_from_peer(const wire::CloseFrame& frame) {
    CloseReason reason;
    reason.by_peer = true;
    reason.application = frame.application;
    reason.wire_code = frame.code;
    reason.message = escape_controls(frame.reason);
    if (frame.application) {
        reason.code = ErrorCode::interrupted;
        return reason;
    }
    switch (static_cast<CloseCode>(frame.code)) {
        case CloseCode::authentication:
            reason.code = ErrorCode::authentication;
            break;
        case CloseCode::no_room:
            reason.code = ErrorCode::no_resources;
            break;
        case CloseCode::none:
        case CloseCode::internal:
            reason.code = ErrorCode::internal;
            break;
        default:
            reason.code = ErrorCode::protocol;
    }
    return reason;
}

ResetReplies::~ResetReplies() { crypto::wipe(key_); }

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
    const auto token = crypto::make_reset_token(provider_, key_, id);
    std::copy(token.begin(), token.end(), reply.begin() + wire::kShortHeaderBytes);
    return reply;
}

}  // namespace udtx::proto
