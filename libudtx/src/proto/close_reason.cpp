#include "proto/close_reason.hpp"

#include "base/escape.hpp"

namespace udtx::proto {

CloseCode close_code_for(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::authentication:
            return CloseCode::authentication;
        case ErrorCode::malformed:
        case ErrorCode::protocol:
            return CloseCode::protocol;
        case ErrorCode::network:
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
            reason.code = ErrorCode::network;  // like a closed port: a later attempt may succeed
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

}  // namespace udtx::proto
