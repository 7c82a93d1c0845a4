// What memory this process has.
#pragma once

#include <cstdint>

namespace udtx::soak {

/// Bytes allocated and not freed, of the main thread's arena; 0 where the allocator does not tell (sanitizers).
[[nodiscard]] std::uint64_t heap_in_use();
/// Pages in memory, in bytes, once the allocator has given back what it keeps.
[[nodiscard]] std::uint64_t resident();

}  // namespace udtx::soak
