// What the system lacks, as an error.
#pragma once

#include <exception>
#include <new>

#include "os/system_failure.hpp"
#include "udtx/result.hpp"

namespace udtx::transfer {

/// For what the event loop, a thread or the memory for them throws.
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
