// What the user typed is wrong: ends with exit code 1 and this message.
#pragma once

#include <string>
#include <utility>

#include "udtx/result.hpp"

namespace udtx::apps {

[[nodiscard]] inline Error usage(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

}  // namespace udtx::apps
