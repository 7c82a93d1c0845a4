// A value or an error. Functions of the library return it and do not throw.
#pragma once

#include <utility>
#include <variant>

#include "udtx/error.hpp"

namespace udtx {

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

}  // namespace udtx
