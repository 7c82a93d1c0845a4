// Conversions for tests: bytes from hexadecimal digits or text, and back.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace udtx::test {

[[nodiscard]] inline std::vector<std::byte> from_hex(std::string_view hex) {
    const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
    std::vector<std::byte> result;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        result.push_back(static_cast<std::byte>(digit(hex[i]) << 4U | digit(hex[i + 1])));
    }
    return result;
}

[[nodiscard]] inline std::string to_hex(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string result;
    for (const std::byte b : bytes) {
        result += kDigits[std::to_integer<unsigned>(b) >> 4U];
        result += kDigits[std::to_integer<unsigned>(b) & 15U];
    }
    return result;
}

[[nodiscard]] inline std::vector<std::byte> from_text(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// Returns the bytes 0, 1, 2, ..., 31.
[[nodiscard]] inline std::array<std::byte, 32> counting_secret() {
    std::array<std::byte, 32> result{};
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::byte>(i);
    return result;
}

}  // namespace udtx::test
