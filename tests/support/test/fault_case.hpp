#pragma once

#include <cstdio>
#include <sstream>
#include <string>

namespace udtx::test {

/// Reports that a case of the fault matrix was tried: its number, the bound that was checked, and the measured value.
/// tests/rules/fault_table.py makes the table in docs/lab/faults.md from these lines. Call it after the bound was
/// checked. The parts of the value are concatenated.
template <typename... Parts>
void fault_case(int number, const std::string& bound, const Parts&... figure) {
    std::ostringstream text;
    text.precision(3);
    (text << ... << figure);
    std::printf("FAULT F%02d | %s | %s\n", number, bound.c_str(), text.str().c_str());
    std::fflush(stdout);
}

}  // namespace udtx::test
