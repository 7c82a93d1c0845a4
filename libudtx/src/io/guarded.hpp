// The public calls throw nothing.
#pragma once

#include <exception>
#include <new>

#include "base/scarcity.hpp"
#include "udtx/callback.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

/// What a call makes; an error where it had no memory, or no thread, to make it with.
template <class Call>
auto guarded(const Call& call) noexcept -> decltype(call()) {
    try {
        return call();
    } catch (const std::bad_alloc& lack) {
        return Error{ErrorCode::internal, describe_lack(lack)};  // short enough to need none
    } catch (const std::exception&) {
        return Error{ErrorCode::internal, "no resources"};
    }
}

/// The same for a call that calls back: where it could not even begin, it calls back with that.
template <class T, class Begin>
CallId begun(const Callback<T>& done, const Begin& begin) noexcept {
    const auto id = guarded([&]() -> Result<CallId> { return begin(); });
    if (id) return *id;
    done(id.error());
    return {};
}

}  // namespace udtx::io
