// What went wrong: a class to act on, a line to read, and what std::error_code makes of it.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include "udtx/export.hpp"

namespace udtx {

/// What went wrong, in classes that a caller may act on. As std::error_code they belong to error_category().
enum class ErrorCode {
    invalid_argument = 1,  ///< the caller's input
    malformed,             ///< bytes from the peer or from a file that do not parse
    protocol,              ///< the peer broke a rule of the protocol
    authentication,        ///< wrong key, pin, certificate
    network,               ///< unreachable, refused, socket failure
    no_route,              ///< the system has no way to there
    udp_blocked,           ///< nothing at all came back
    timeout,               ///< the peer fell silent or no progress was made
    file_io,               ///< open, read, write, sync, rename, disk full
    integrity,             ///< a hash or size does not match
    refused,               ///< the peer refused on purpose (name, rights, overwrite)
    interrupted,           ///< a signal, or the user at one of the ends, ended it
    partial,               ///< some files could not be moved
    cancelled,             ///< the wait was ended by cancel(); what it waited for goes on
    internal,              ///< our own fault
};

/// "udtx": values are those of ErrorCode. They compare equal to std::errc where that has the same meaning:
/// invalid_argument, timed_out, operation_canceled.
[[nodiscard]] UDTX_EXPORT const std::error_category& error_category() noexcept;
/// "udtx.application": values are the codes that an application gave to a close or to the reset of a stream, the
/// largest int for larger ones.
[[nodiscard]] UDTX_EXPORT const std::error_category& application_category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(ErrorCode code) noexcept {
    return {static_cast<int>(code), error_category()};
}

struct UDTX_EXPORT Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;   ///< one line, names the cause and where possible the remedy
    int system_error = 0;  ///< the errno that is behind it; 0: none, or it does not matter
    /// The code that an application gave, where it ended a session or a stream; 0: none.
    std::uint64_t application_code = 0;

    /// In application_category() where there is an application's code other than 0, else in error_category().
    [[nodiscard]] std::error_code error_code() const noexcept;
};

}  // namespace udtx

template <>
struct std::is_error_code_enum<udtx::ErrorCode> : std::true_type {};
