// Calls that do not wait: they return at once, and call back when there is a result. For programs with an event loop of
// their own; udtx/async.hpp makes Boost.Asio's completion tokens of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "udtx/result.hpp"

namespace udtx {

/// Called once: within the call that was given it, or later on the protocol thread or in whoever cancels. It returns
/// soon and throws nothing: it hands the result to the thread that is to have it.
template <class T>
using Callback = std::function<void(Result<T>)>;

/// Names a call that was begun, for cancel(); unique within its session or listener.
struct CallId {
    std::uint64_t value = 0;
    friend constexpr bool operator==(CallId, CallId) noexcept = default;
};

/// For calls that block: no time-out.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

}  // namespace udtx
