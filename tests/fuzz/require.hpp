// How a fuzz target reports a failure, and which cases of the fault matrix it covers.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace udtx::fuzz {

/// Each target defines its own list; the replay of its seeds reports the cases.
struct FaultCase {
    int number = 0;
    const char* bound = nullptr;
};
extern const std::vector<FaultCase> kFaultCases;

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

}  // namespace udtx::fuzz
