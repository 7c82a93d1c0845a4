// udtx://HOST[:PORT]/[subdir]: where udtx-send sends to.
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
    std::string
        path;  ///< percent-decoded, without the leading slash, as the user gave it otherwise: the receiver judges
};

/// A '%' that does not start an escape stands for itself, so that file names need no encoding in everyday use.
[[nodiscard]] std::string percent_decode(std::string_view text);
/// Cheap test by which sources and the destination are told apart.
[[nodiscard]] bool looks_like_url(std::string_view text) noexcept;
/// 1 to 65535, in digits.
[[nodiscard]] std::optional<std::uint16_t> parse_port(std::string_view text) noexcept;
Result<Url> parse_url(std::string_view text);
/// "udtx://host:port/path", with nothing encoded
[[nodiscard]] std::string to_text(const Url& url);
/// "host:port", "[v6]:port"
[[nodiscard]] std::string authority(const Url& url);

}  // namespace udtx::apps
