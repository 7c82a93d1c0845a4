// Makes text from other parties safe to print on one line of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace udtx {

/// Replaces each byte that is `dangerous` with "\xHH".
template <class Dangerous>
std::string escape(std::string_view text, const Dangerous& dangerous) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string out;
    for (const char c : text) {
        const auto u = static_cast<unsigned char>(c);
        if (dangerous(u)) {
            out += "\\x";
            out += kHex[u >> 4U];
            out += kHex[u & 15U];
        } else {
            out += c;
        }
    }
    return out;
}

[[nodiscard]] constexpr bool is_control(unsigned char u) noexcept { return u < 0x20 || u == 0x7f; }

[[nodiscard]] inline std::string escape_controls(std::string_view text) { return escape(text, is_control); }

}  // namespace udtx
