// What this process may have of the machine's memory.
#pragma once

#include <cstdint>

namespace udtx::transfer {

/// Bytes: the machine's, or what control groups or limits of the process leave of it.
[[nodiscard]] std::uint64_t memory_of_process();

}  // namespace udtx::transfer
