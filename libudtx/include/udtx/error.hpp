// Errors: a class to act on, a line to read, and a std::error_code.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "udtx/export.hpp"

namespace udtx {

/// Classes of errors that a caller may act on. As std::error_code they belong to error_category().
enum class ErrorCode {
    invalid_argument = 1,  ///< the caller passed something wrong
    malformed,             ///< bytes of the peer or of a file do not parse
    protocol,              ///< the peer broke a rule of the protocol
    authentication,        ///< a key is wrong, or not trusted
    network,               ///< unreachable, refused by the host, or a socket fails
    no_route,              ///< the system has no route to the peer
    udp_blocked,           ///< nothing came back: the peer is down, or UDP is blocked
    timeout,               ///< the time of the call passed, the peer fell silent, or nothing moved
    file_io,               ///< a call of the file system fails, or there is no memory
    integrity,             ///< a hash or size does not match
    refused,               ///< the peer, or a limit, does not allow it
    interrupted,           ///< a program or its user ended it
    partial,               ///< some files were not delivered; of one file see FailedFile
    cancelled,             ///< cancel() ended the wait; what it waited for goes on
    internal,              ///< a fault of the library
    superseded,            ///< a newer run of the same transfer has taken over
};

/// Category "udtx", whose values are those of ErrorCode. Codes compare equal to std::errc where that has the same
/// meaning: invalid_argument, timed_out, operation_canceled.
[[nodiscard]] UDTX_EXPORT const std::error_category& error_category() noexcept;
/// Category "udtx.application", whose values are the codes that a program passed to close(), reset() or
/// stop_receiving(). A code beyond int is the largest int.
[[nodiscard]] UDTX_EXPORT const std::error_category& application_category() noexcept;
/// A code in error_category().
[[nodiscard]] inline std::error_code make_error_code(ErrorCode code) noexcept {
    return {static_cast<int>(code), error_category()};
}

/// What went wrong.
struct UDTX_EXPORT Error {
    ErrorCode code = ErrorCode::internal;  ///< class
    std::string message;                   ///< one line for people: the cause and, if there is one, the remedy
    int system_error = 0;                  ///< errno of the system call that failed; 0: none
    std::uint64_t application_code = 0;    ///< code of the program that ended the session or the stream; 0: none

    /// In application_category() if application_code is not 0, else in error_category().
    [[nodiscard]] std::error_code error_code() const noexcept;
};

}  // namespace udtx

template <>
struct std::is_error_code_enum<udtx::ErrorCode> : std::true_type {};
