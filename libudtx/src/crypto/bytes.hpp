// Helpers for raw bytes: network byte order and comparison.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace udtx::crypto {

/// Writes all bytes of `value` to the front of `out` and returns the rest of `out`.
template <std::unsigned_integral T>
constexpr std::span<std::byte> put_big_endian(std::span<std::byte> out, T value) noexcept {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        out[i] = static_cast<std::byte>(value >> (8U * (sizeof(T) - 1 - i)));
    }
    return out.subspan(sizeof(T));
}

template <std::unsigned_integral T>
[[nodiscard]] constexpr T get_big_endian(std::span<const std::byte> in) noexcept {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value = static_cast<T>((static_cast<unsigned long long>(value) << 8U) | std::to_integer<unsigned>(in[i]));
    }
    return value;
}

/// Compares in a time that does not depend on the position of the first difference.
[[nodiscard]] inline bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
    if (a.size() != b.size()) return false;
    std::byte difference{0};
    for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
    return difference == std::byte{0};
}

// Overwrites secrets after use, so that they do not remain in freed memory or a core dump.

/// Sets `bytes` to zero; the compiler cannot optimise it away.
inline void wipe(std::span<std::byte> bytes) noexcept {
    volatile std::byte* p = bytes.data();
    for (std::size_t i = 0; i < bytes.size(); ++i) p[i] = std::byte{0};
}

}  // namespace udtx::crypto
