#pragma once

#include <cstdio>
#include <sstream>
#include <string>

namespace udtx::test {

/// Says that a case of the fault matrix was tried: its number, the bound that was held and the figure that came out.
/// The table in docs/lab/faults.md is made of these lines (tests/rules/fault_table.py). Called when the bound has been
/// checked. The parts of the figure are written one after the other.
template <typename... Parts>
void fault_case(int number, const std::string& bound, const Parts&... figure) {
    std::ostringstream text;
    text.precision(3);
    (text << ... << figure);
    std::printf("FAULT F%02d | %s | %s\n", number, bound.c_str(), text.str().c_str());
    std::fflush(stdout);
}

}  // namespace udtx::test
