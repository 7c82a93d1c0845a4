// The version of these headers, and of the library that a program runs with. Until 1.0 a minor version may change the
// interface; from then on only a major one does.
#pragma once

#include "udtx/export.hpp"

#define UDTX_VERSION_MAJOR 0
#define UDTX_VERSION_MINOR 1
#define UDTX_VERSION_PATCH 0
#define UDTX_VERSION_STRING "0.1.0"

namespace udtx {

/// "MAJOR.MINOR.PATCH" of the library that is linked; UDTX_VERSION_STRING is that of the headers. Any thread.
[[nodiscard]] UDTX_EXPORT const char* library_version() noexcept;

}  // namespace udtx
