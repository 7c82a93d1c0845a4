// Calls that do not block: they return at once, and call back with their result. They are for programs with their own
// event loop. For Boost.Asio see udtx/async.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "udtx/result.hpp"

namespace udtx {

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
