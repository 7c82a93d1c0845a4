// Records where in the program a call failed, and where the program crashed.
#pragma once

namespace udtx::faults {

/// Opens the file for the traces.
void begin_trace(const char* path) noexcept;
/// Writes the call stack, at its first call only.
void trace_failure() noexcept;

}  // namespace udtx::faults
