// What each end says first over ssh, and how the one-time key is written there.
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
/// protocol: "is version X, this is Y: ..." of an end that cannot be talked to.
Result<void> check_greeting(const BootstrapGreeting& other);

using BootstrapKey = std::array<std::byte, Credentials::kPskBytes>;
[[nodiscard]] std::string key_to_text(std::span<const std::byte, Credentials::kPskBytes> key);
[[nodiscard]] std::optional<BootstrapKey> parse_key(const std::string& text);

}  // namespace udtx::apps
