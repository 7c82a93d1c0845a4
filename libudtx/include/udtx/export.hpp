// UDTX_EXPORT marks what a program may use of the shared library, which hides all else: every public class that has
// members or virtual functions in the library, and every public function that is not inline. A program that links the
// archives sees nothing of it, so that a library made with them does not offer their names as its own.
#pragma once

/// What a marked class has inside is marked with it, but for this, where that is defined.
#define UDTX_LOCAL __attribute__((visibility("hidden")))

/// Set by the CMake targets and the pkg-config file of the shared library.
#ifdef UDTX_SHARED
#define UDTX_EXPORT __attribute__((visibility("default")))
#else
#define UDTX_EXPORT
#endif
