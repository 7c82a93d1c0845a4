// An error in the user's command line. The program prints this message and exits with code 1.
#pragma once

#include <string>
#include <utility>

#include "udtx/result.hpp"

namespace udtx::apps {

[[nodiscard]] inline Error usage(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

}  // namespace udtx::apps
