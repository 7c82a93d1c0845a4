// Errors, results of calls, and callbacks that get them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "udtx/export.hpp"

namespace udtx {

// Errors: a class for the program, a message for people, and a std::error_code.

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
    partial,               ///< all was delivered but what the lists of failed and unset entries name
    cancelled,             ///< cancel() ended the call; the object of the call stays open
    internal,              ///< a bug in the library
    superseded,            ///< a newer run of the same transfer has replaced this one
    going_away,            ///< the server is being stopped: a later attempt may reach its successor
    no_resources,          ///< an end lacks memory, threads, descriptors or room for a connection; try again later
    changed,               ///< of a file: it changed while it was read
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

// How a session ended.

namespace udtx {

/// Why a session ended, and which side ended it.
struct CloseReason {
    ErrorCode code = ErrorCode::internal;  ///< error class of the cause
    bool by_peer = false;      ///< true: the peer ended the session; false: this end ended it or detected the cause
    bool application = false;  ///< true: a program closed the session with `wire_code`; false: the transport ended it
    std::uint64_t wire_code = 0;  ///< argument of close(), or the transport's code (docs/inside/wire-format.md)
    std::string message;          ///< text for people; control bytes of the peer's text are in hexadecimal: "\x0a"
    /// True if a program closed the session with code 0.
    [[nodiscard]] bool orderly() const noexcept { return application && wire_code == 0; }
};

// A value or an error. Functions of the library return it and do not throw.

/// A value or an Error. Check ok() before you take the value: without a value, value() and the operators throw
/// std::bad_variant_access. Without an error, error() throws it too.
template <class T>
class [[nodiscard]] Result {
  public:
    /// Holds a value.
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
    /// Holds an error.
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

    /// True if there is a value.
    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    /// True if there is a value.
    explicit operator bool() const noexcept { return ok(); }
    /// The value. A temporary Result gives it away, so that it outlives the Result:
    /// `for (auto& path : (*session.stats()).paths)`.
    ///@{
    [[nodiscard]] T& value() & { return std::get<0>(state_); }
    [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
    [[nodiscard]] T value() && { return std::get<0>(std::move(state_)); }
    [[nodiscard]] T& operator*() & { return value(); }
    [[nodiscard]] const T& operator*() const& { return value(); }
    [[nodiscard]] T operator*() && { return std::move(*this).value(); }
    [[nodiscard]] T* operator->() & { return &value(); }
    [[nodiscard]] const T* operator->() const& { return &value(); }
    const T* operator->() && = delete;
    ///@}
    /// The error. A temporary Result gives it away.
    ///@{
    [[nodiscard]] const Error& error() const& { return std::get<1>(state_); }
    [[nodiscard]] Error error() && { return std::get<1>(std::move(state_)); }
    ///@}

  private:
    std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;  ///< Success.
    /// Holds an error.
    Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(google-explicit-constructor)

    /// True for success.
    [[nodiscard]] bool ok() const noexcept { return !failed_; }
    /// True for success.
    explicit operator bool() const noexcept { return ok(); }
    /// The error; meaningless after a success.
    ///@{
    [[nodiscard]] const Error& error() const& { return error_; }
    [[nodiscard]] Error error() && { return std::move(error_); }
    ///@}

  private:
    Error error_{};
    bool failed_ = false;
};

// Calls that do not block: they return at once, and call back with their result. They are for programs with their own
// event loop. For Boost.Asio see udtx/async.hpp.

/// Called once with the result. It runs on the protocol thread, inside the call that started the operation, or inside
/// cancel() or close(). It must return soon and must not throw; typically it passes the result to another thread. It
/// may start and end calls, and may destroy the object of the call. A blocking call on the protocol thread fails with
/// invalid_argument.
template <class T>
using Callback = std::function<void(Result<T>)>;

/// Identifies a started call for cancel(). Unique within its session or listener.
struct CallId {
    std::uint64_t value = 0;                                              ///< 0: no call
    friend constexpr bool operator==(CallId, CallId) noexcept = default;  ///< Compares the values.
};

/// The time-out of a call that may block without limit.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

}  // namespace udtx
