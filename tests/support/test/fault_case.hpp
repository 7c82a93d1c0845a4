#pragma once

#include <cstdio>
#include <string>

namespace udtx::test {

/// Says that a case of the fault matrix was tried: its number, the bound that was held and the figure that came out. The
/// table in docs/testing.md is made of these lines (tests/rules/fault_table.py). Called when the bound has been checked.
inline void fault_case(int number, const std::string& bound, const std::string& figure) {
    std::printf("FAULT F%02d | %s | %s\n", number, bound.c_str(), figure.c_str());
    std::fflush(stdout);
}

}  // namespace udtx::test
