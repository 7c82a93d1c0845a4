// Errors: a class for the program, a message for people, and a std::error_code.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "udtx/export.hpp"

namespace udtx {

/// Classes of errors to which a caller may react. As std::error_code they belong to error_category().
enum class ErrorCode {
    invalid_argument = 1,  ///< the caller passed an invalid argument
    malformed,             ///< bytes from the peer or from a file do not parse
    protocol,              ///< the peer violated the protocol
    authentication,        ///< a key is wrong or not trusted
    network,               ///< the host is unreachable, refuses or is unknown, or this host has no such address or port
    no_route,              ///< the system has no route to the peer
    udp_blocked,           ///< no reply: the peer is down, or UDP is blocked
    timeout,               ///< the call's time has passed, the peer no longer responds, or nothing moved
    file_io,               ///< a file system call failed
    integrity,             ///< a hash or a size does not match
    refused,               ///< the peer or a limit does not allow the request
    interrupted,           ///< a program or its user ended the operation
    partial,               ///< some files were not delivered
    cancelled,             ///< cancel() ended the call; the object of the call stays open
    internal,              ///< a bug in the library
    superseded,            ///< a newer run of the same transfer has replaced this one
    going_away,            ///< the server is being stopped: a later attempt may reach its successor
    no_resources,          ///< an end lacks memory, threads, descriptors or room for a connection; try again later
    changed,               ///< a source changed while it was read
    not_sent,              ///< of a file at the receiver: the sender did not send it, and reports why
};

/// The category "udtx". Its values are those of ErrorCode. invalid_argument, timeout and cancelled compare equal to
/// std::errc::invalid_argument, timed_out and operation_canceled.
[[nodiscard]] UDTX_EXPORT const std::error_category& error_category() noexcept;
/// The category "udtx.application". Its values are the codes that a program passed to close(), reset() or
/// stop_receiving(). Codes above the range of int become the largest int.
[[nodiscard]] UDTX_EXPORT const std::error_category& application_category() noexcept;
/// Makes an error code of error_category().
[[nodiscard]] inline std::error_code make_error_code(ErrorCode code) noexcept {
    return {static_cast<int>(code), error_category()};
}

/// A failure: its class, message and codes.
struct UDTX_EXPORT Error {
    ErrorCode code = ErrorCode::internal;  ///< class of the error
    std::string message;                   ///< one line for people: the cause, and the remedy if there is one
    int system_error = 0;                  ///< errno of the failed system call; 0: none
    std::uint64_t application_code = 0;    ///< code from the program that ended the session or the stream; 0: none

    /// Returns a code of application_category() if application_code is not 0, else a code of error_category().
    [[nodiscard]] std::error_code error_code() const noexcept;
};

}  // namespace udtx

template <>
struct std::is_error_code_enum<udtx::ErrorCode> : std::true_type {};
