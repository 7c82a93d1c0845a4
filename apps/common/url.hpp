// udtx://HOST[:PORT]/[subdir], the destination of udtx-send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "udtx/result.hpp"

namespace udtx::apps {

inline constexpr std::uint16_t kDefaultPort = 7011;

struct Url {
    std::string host;  ///< without brackets
    std::uint16_t port = kDefaultPort;
    bool port_given = false;
    std::string path;  ///< percent-decoded, without the leading slash, otherwise unchecked: the receiver checks it
};

/// A '%' that starts no escape is kept. parse_url() refuses it.
[[nodiscard]] std::string percent_decode(std::string_view text);
/// A cheap test that distinguishes the destination from sources.
[[nodiscard]] bool looks_like_url(std::string_view text) noexcept;
/// Accepts 1 to 65535 in decimal digits.
[[nodiscard]] std::optional<std::uint16_t> parse_port(std::string_view text) noexcept;
Result<Url> parse_url(std::string_view text);
/// "udtx://host:port/path", without percent-encoding
[[nodiscard]] std::string to_text(const Url& url);
/// "host:port", "[v6]:port"
[[nodiscard]] std::string authority(const Url& url);

}  // namespace udtx::apps
