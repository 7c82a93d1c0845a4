// Overwrites secrets that are no longer needed, so that they do not linger in freed memory or a core dump.
#pragma once

#include <cstddef>
#include <span>

namespace udtx::crypto {

/// Zeroes `bytes` in a way that the optimiser may not drop.
inline void wipe(std::span<std::byte> bytes) noexcept {
    volatile std::byte* p = bytes.data();
    for (std::size_t i = 0; i < bytes.size(); ++i) p[i] = std::byte{0};
}

}  // namespace udtx::crypto
