// UDTX_EXPORT marks what a shared library offers: each public class with functions in the library, and each public
// function that is not inline. All else is hidden. With static libraries it is empty, so that a shared library that
// links them does not offer their names as its own.
#pragma once

/// Hides a class inside of a marked one.
#define UDTX_LOCAL __attribute__((visibility("hidden")))

/// Marks a public name. The CMake targets and the pkg-config file of the shared library define UDTX_SHARED.
#ifdef UDTX_SHARED
#define UDTX_EXPORT __attribute__((visibility("default")))
#else
#define UDTX_EXPORT
#endif
