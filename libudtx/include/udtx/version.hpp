// Versions of the headers and of the library. Before 1.0 a minor version may change the interface. After 1.0 only a
// major version may.
#pragma once

#include <cstdint>
#include <vector>

#include "udtx/export.hpp"

/// Version of these headers.
///@{
#define UDTX_VERSION_MAJOR 0
#define UDTX_VERSION_MINOR 2
#define UDTX_VERSION_PATCH 0
#define UDTX_VERSION_STRING "0.2.0"
///@}

namespace udtx {

/// Returns the version "MAJOR.MINOR.PATCH" of the library that the program has loaded. Any thread.
[[nodiscard]] UDTX_EXPORT const char* library_version() noexcept;

/// Returns the numbers of the wire formats that the library speaks, the newest first. Any thread.
[[nodiscard]] UDTX_EXPORT std::vector<std::uint32_t> wire_versions();

}  // namespace udtx
