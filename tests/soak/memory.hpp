// Memory of this process.
#pragma once

#include <cstdint>

namespace udtx::soak {

/// Allocated bytes of the main thread's arena; 0 if the allocator has no such count (sanitizers).
[[nodiscard]] std::uint64_t heap_in_use();
/// Resident pages in bytes, after the allocator has returned its unused memory.
[[nodiscard]] std::uint64_t resident();

}  // namespace udtx::soak
