// Errors of system calls, with the errno that identifies the cause.
#pragma once

#include <exception>
#include <string>

#include "udtx/error.hpp"

namespace udtx {

/// The message is "WHAT: the system's text for `error_number`".
[[nodiscard]] Error system_failure(ErrorCode code, std::string what, int error_number);

/// The remedy if the system refuses a thread with that errno.
[[nodiscard]] std::string remedy_for_no_thread(int error_number);

/// The errno in an exception of the standard library or of Boost; 0 if it has none.
[[nodiscard]] int error_number_of(const std::exception& thrown) noexcept;

}  // namespace udtx
