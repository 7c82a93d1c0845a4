#include "common/exit_codes.hpp"

namespace udtx::apps {

ExitCode exit_code_for(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument:
            return ExitCode::usage;
        case ErrorCode::malformed:
        case ErrorCode::protocol:
        case ErrorCode::internal:
            return ExitCode::protocol;
        case ErrorCode::authentication:
            return ExitCode::authentication;
        case ErrorCode::network:
        case ErrorCode::no_route:
            return ExitCode::network;
        case ErrorCode::udp_blocked:
            return ExitCode::udp_blocked;
        case ErrorCode::timeout:
            return ExitCode::timeout;
        case ErrorCode::refused:  // the receiver refuses a name, a place or a kind of transfer
        case ErrorCode::file_io:
            return ExitCode::file_io;
        case ErrorCode::superseded:
            return ExitCode::superseded;
        case ErrorCode::integrity:
            return ExitCode::integrity;
        case ErrorCode::partial:
            return ExitCode::partial;
        case ErrorCode::interrupted:
        case ErrorCode::cancelled:
            return ExitCode::interrupted;
    }
    return ExitCode::protocol;
}

ErrorCode error_code_for(ExitCode code) noexcept {
    switch (code) {
        case ExitCode::usage:
            return ErrorCode::invalid_argument;
        case ExitCode::network:
            return ErrorCode::network;
        case ExitCode::file_io:
            return ErrorCode::file_io;
        case ExitCode::superseded:
            return ErrorCode::superseded;
        case ExitCode::partial:
            return ErrorCode::partial;
        case ExitCode::timeout:
            return ErrorCode::timeout;
        case ExitCode::authentication:
            return ErrorCode::authentication;
        case ExitCode::integrity:
            return ErrorCode::integrity;
        case ExitCode::udp_blocked:
            return ErrorCode::udp_blocked;
        case ExitCode::interrupted:
            return ErrorCode::interrupted;
        case ExitCode::ok:
        case ExitCode::protocol:
            break;
    }
    return ErrorCode::protocol;
}

std::string_view to_string(ExitCode code) noexcept {
    switch (code) {
        case ExitCode::ok:
            return "ok";
        case ExitCode::usage:
            return "usage";
        case ExitCode::network:
            return "network";
        case ExitCode::file_io:
            return "file_io";
        case ExitCode::protocol:
            return "protocol";
        case ExitCode::superseded:
            return "superseded";
        case ExitCode::partial:
            return "partial";
        case ExitCode::timeout:
            return "timeout";
        case ExitCode::authentication:
            return "authentication";
        case ExitCode::integrity:
            return "integrity";
        case ExitCode::udp_blocked:
            return "udp_blocked";
        case ExitCode::interrupted:
            return "interrupted";
    }
    return "unknown";
}

std::string_view meaning_of(ExitCode code) noexcept {
    switch (code) {
        case ExitCode::ok:
            return "success";
        case ExitCode::usage:
            return "wrong command line";
        case ExitCode::network:
            return "network error";
        case ExitCode::file_io:
            return "a file cannot be read or written";
        case ExitCode::protocol:
            return "protocol error";
        case ExitCode::superseded:
            return "a newer run of the same transfer took over";
        case ExitCode::partial:
            return "partial: some entries were not transferred";
        case ExitCode::timeout:
            return "timeout";
        case ExitCode::authentication:
            return "authentication failed";
        case ExitCode::integrity:
            return "data is damaged or differs";
        case ExitCode::udp_blocked:
            return "UDP is blocked";
        case ExitCode::interrupted:
            return "interrupted";
    }
    return "unknown";
}

}  // namespace udtx::apps
