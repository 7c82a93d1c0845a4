// The memory that this process may use.
#pragma once

#include <cstdint>

namespace udtx::transfer {

/// Bytes: the machine's memory, reduced by control groups and process limits.
[[nodiscard]] std::uint64_t memory_of_process();

}  // namespace udtx::transfer
