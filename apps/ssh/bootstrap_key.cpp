#include "ssh/bootstrap_key.hpp"

#include <charconv>

#include "common/process.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::apps {

std::string own_greeting() {
    return to_line({BootstrapGreeting::kVersion, program_version(), transfer::kTransferVersion});
}

Result<void> check_greeting(const BootstrapGreeting& other) {
    if (other.bootstrap == BootstrapGreeting::kVersion && other.transfer == transfer::kTransferVersion) return {};
    return Error{ErrorCode::protocol, "is version " + other.program + ", this is " + program_version() +
                                          ": install the same version on both"};
}

std::string key_to_text(std::span<const std::byte, Credentials::kPskBytes> key) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (const std::byte byte : key) {
        out += kDigits[std::to_integer<std::size_t>(byte) >> 4U];
        out += kDigits[std::to_integer<std::size_t>(byte) & 15U];
    }
    return out;
}

std::optional<BootstrapKey> parse_key(const std::string& text) {
    BootstrapKey key{};
    if (text.size() != 2 * key.size()) return std::nullopt;
    for (std::size_t i = 0; i < key.size(); ++i) {
        unsigned value = 0;
        const char* at = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(at, at + 2, value, 16);
        if (error != std::errc() || end != at + 2) return std::nullopt;
        key[i] = static_cast<std::byte>(value);
    }
    return key;
}

}  // namespace udtx::apps
