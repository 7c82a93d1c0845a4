// Turns exceptions into errors, because public calls throw nothing.
#pragma once

#include <exception>
#include <new>

#include "base/scarcity.hpp"
#include "udtx/callback.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// Returns the result of `call`, or an error if it lacked memory or threads.
template <class Call>
auto guarded(const Call& call) noexcept -> decltype(call()) {
    try {
        return call();
    } catch (const std::bad_alloc& lack) {
        return Error{ErrorCode::internal, describe_lack(lack)};  // too short to need memory
    } catch (const std::exception&) {
        return Error{ErrorCode::internal, "no resources"};
    }
}

/// The same for a call with a callback. If `begin` fails, this calls `done` with the error.
template <class T, class Begin>
CallId begun(const Callback<T>& done, const Begin& begin) noexcept {
    const auto id = guarded([&]() -> Result<CallId> { return begin(); });
    if (id) return *id;
    done(id.error());
    return {};
}

}  // namespace udtx::io
