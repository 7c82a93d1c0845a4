// Value or error. Bytes from a peer and failures of the system give a Result; exceptions stay in apps/.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace udtx {

/// What went wrong, in classes that a caller may act on. The tools map them to exit codes (apps/common).
enum class ErrorCode {
    invalid_argument,  ///< the caller's input
    malformed,         ///< bytes from the peer or from a file that do not parse
    protocol,          ///< the peer broke a rule of the protocol
    authentication,    ///< wrong key, pin, certificate
    network,           ///< unreachable, refused, socket failure
    no_route,          ///< the system has no way to there
    udp_blocked,       ///< nothing at all came back
    timeout,           ///< the peer fell silent or no progress was made
    file_io,           ///< open, read, write, sync, rename, disk full
    integrity,         ///< a hash or size does not match
    refused,           ///< the peer refused on purpose (name, rights, overwrite)
    interrupted,       ///< a signal or the peer's user ended it
    partial,           ///< some files could not be moved
    internal,          ///< our own fault
};

struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;   ///< one line, names the cause and where possible the remedy
    int system_error = 0;  ///< the errno that is behind it; 0: none, or it does not matter
};

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }
    [[nodiscard]] T& value() & { return std::get<0>(state_); }
    [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
    [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
    [[nodiscard]] T& operator*() & { return value(); }
    [[nodiscard]] const T& operator*() const& { return value(); }
    [[nodiscard]] T* operator->() { return &value(); }
    [[nodiscard]] const T* operator->() const { return &value(); }
    [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(google-explicit-constructor)

    [[nodiscard]] bool ok() const noexcept { return !failed_; }
    explicit operator bool() const noexcept { return ok(); }
    [[nodiscard]] const Error& error() const { return error_; }

  private:
    Error error_{};
    bool failed_ = false;
};

}  // namespace udtx
