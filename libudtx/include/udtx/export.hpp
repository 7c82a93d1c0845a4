// UDTX_EXPORT marks the symbols that a shared library exports: each public class with functions in the library, and
// each public function that is not inline. All other symbols are hidden. With static libraries the macro is empty.
// Otherwise a shared library that links them would export their symbols as its own.
#pragma once

/// Hides a class inside an exported class.
#define UDTX_LOCAL __attribute__((visibility("hidden")))

/// Exports a public name. The CMake targets and the pkg-config file of the shared library define UDTX_SHARED.
#ifdef UDTX_SHARED
#define UDTX_EXPORT __attribute__((visibility("default")))
#else
#define UDTX_EXPORT
#endif

namespace udtx {
/// Makes handles and reads what they refer to, for the library alone. Programs do not have it.
struct StateAccess;
}  // namespace udtx
