// Calls that do not block: they return at once, and call back when there is a result. They are for programs with an
// event loop of their own. For Boost.Asio see udtx/async.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "udtx/result.hpp"

namespace udtx {

/// Called once with the result: on the protocol thread, or within the call that took it, or within cancel() or close().
/// It returns soon and throws nothing; typically it hands the result to another thread. It may begin and end calls, and
/// destroy what it was begun on. A call that would block on the protocol thread fails with invalid_argument.
template <class T>
using Callback = std::function<void(Result<T>)>;

/// Names a call that was started, for cancel(). Unique within its session or listener.
struct CallId {
    std::uint64_t value = 0;                                              ///< 0: none
    friend constexpr bool operator==(CallId, CallId) noexcept = default;  ///< By value.
};

/// Time-out of a call that blocks for as long as it takes.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

}  // namespace udtx
