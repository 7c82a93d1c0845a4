// What a fuzz target calls a failure.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace udtx::fuzz {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

}  // namespace udtx::fuzz
