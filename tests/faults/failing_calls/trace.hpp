// Where in the program a call failed, and where it crashed.
#pragma once

namespace udtx::faults {

/// To that file.
void begin_trace(const char* path) noexcept;
/// The first time it is called: the calls that led here.
void trace_failure() noexcept;

}  // namespace udtx::faults
