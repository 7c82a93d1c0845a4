// Converts an exception about a lack of system resources into an error.
#pragma once

#include <exception>
#include <new>

#include "os/system_failure.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// For exceptions of the event loop, of threads and of memory allocation.
template <class Fn>
auto or_error(Fn&& fn) -> decltype(fn()) {
    try {
        return fn();
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::file_io, "out of memory"};
    } catch (const std::exception& lack) {
        return Error{ErrorCode::network, lack.what(), error_number_of(lack)};
    }
}

}  // namespace udtx::transfer
