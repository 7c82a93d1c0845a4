// Errors of calls to the system, with the number that tells one cause from another.
#pragma once

#include <exception>
#include <string>

#include "udtx/error.hpp"

namespace udtx {

/// "WHAT: the system's words for `error_number`".
[[nodiscard]] Error system_failure(ErrorCode code, std::string what, int error_number);

/// The errno that an exception of the standard library or of Boost carries; 0: none.
[[nodiscard]] int error_number_of(const std::exception& thrown) noexcept;

}  // namespace udtx
