#include "transfer/close_codes.hpp"

namespace udtx::transfer {

CloseCode close_code_for(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::malformed:
        case ErrorCode::protocol:
            return CloseCode::protocol;
        case ErrorCode::authentication:
            return CloseCode::authentication;
        case ErrorCode::invalid_argument:
        case ErrorCode::refused:
            return CloseCode::refused;
        case ErrorCode::file_io:
            return CloseCode::file_io;
        case ErrorCode::integrity:
            return CloseCode::integrity;
        case ErrorCode::network:
        case ErrorCode::no_route:
        case ErrorCode::udp_blocked:
        case ErrorCode::timeout:
            return CloseCode::timeout;
        case ErrorCode::interrupted:
        case ErrorCode::cancelled:
            return CloseCode::interrupted;
        case ErrorCode::partial:
        case ErrorCode::internal:
            return CloseCode::internal;
        case ErrorCode::superseded:
            return CloseCode::superseded;
        case ErrorCode::going_away:
            return CloseCode::going_away;
    }
    return CloseCode::internal;
}

ErrorCode error_code_for(std::uint64_t wire_code) noexcept {
    switch (static_cast<CloseCode>(wire_code)) {
        case CloseCode::interrupted:
            return ErrorCode::interrupted;
        case CloseCode::refused:
            return ErrorCode::refused;
        case CloseCode::file_io:
            return ErrorCode::file_io;
        case CloseCode::integrity:
            return ErrorCode::integrity;
        case CloseCode::timeout:
            return ErrorCode::timeout;
        case CloseCode::internal:
            return ErrorCode::internal;
        case CloseCode::superseded:
            return ErrorCode::superseded;
        case CloseCode::authentication:
            return ErrorCode::authentication;
        case CloseCode::going_away:
            return ErrorCode::going_away;
        case CloseCode::done:
        case CloseCode::protocol:
            break;
    }
    return ErrorCode::protocol;
}

}  // namespace udtx::transfer
