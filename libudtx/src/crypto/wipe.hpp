// Overwrites secrets after use, so that they do not remain in freed memory or a core dump.
#pragma once

#include <cstddef>
#include <span>

namespace udtx::crypto {

/// Sets `bytes` to zero; the compiler cannot optimise it away.
inline void wipe(std::span<std::byte> bytes) noexcept {
    volatile std::byte* p = bytes.data();
    for (std::size_t i = 0; i < bytes.size(); ++i) p[i] = std::byte{0};
}

}  // namespace udtx::crypto
