// The greeting of each end over ssh, and the text form of the one-time key.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "ssh/bootstrap_fields.hpp"
#include "udtx/credentials.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

[[nodiscard]] std::string own_greeting();
/// protocol: the other end has an incompatible version, "is version X, this is Y: ...".
Result<void> check_greeting(const BootstrapGreeting& other);

using BootstrapKey = std::array<std::byte, Credentials::kPskBytes>;
[[nodiscard]] std::string key_to_text(std::span<const std::byte, Credentials::kPskBytes> key);
[[nodiscard]] std::optional<BootstrapKey> parse_key(const std::string& text);

}  // namespace udtx::apps
