#include "common/url.hpp"

#include <charconv>

namespace udtx::apps {
namespace {

constexpr std::string_view kScheme = "udtx://";

Error no_url(std::string_view text, std::string_view why) {
    return {
        ErrorCode::invalid_argument,
        "'" + std::string(text) + "' is neither [user@]HOST:PATH nor udtx://HOST:PORT/[subdir]: " + std::string(why)};
}

std::optional<unsigned> hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
    return std::nullopt;
}

}  // namespace

bool is_percent_encoded(std::string_view text) noexcept {
    for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
        if (at + 2 >= text.size() || !hex_digit(text[at + 1]) || !hex_digit(text[at + 2])) return false;
    }
    return true;
}

std::string percent_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size()) {
            const auto high = hex_digit(text[i + 1]);
            const auto low = hex_digit(text[i + 2]);
            if (high && low) {
                out += static_cast<char>(*high * 16U + *low);
                i += 2;
                continue;
            }
        }
        out += text[i];
    }
    return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
    return port;
}

bool looks_like_url(std::string_view text) noexcept { return text.starts_with(kScheme); }

Result<Url> parse_url(std::string_view text) {
    if (!looks_like_url(text)) return no_url(text, "it names no host");
    std::string_view rest = text.substr(kScheme.size());
    const std::size_t slash = rest.find('/');
    std::string_view where = rest.substr(0, slash);
    Url url;
    if (slash != std::string_view::npos) {
        const std::string_view path = rest.substr(slash + 1);
        if (!is_percent_encoded(path))
            return no_url(text, "two hexadecimal digits must follow each %; write %25 for %");
        url.path = percent_decode(path);
    }
    if (url.path.find('\0') != std::string::npos) return no_url(text, "the path contains a NUL");
    if (where.find('@') != std::string_view::npos)
        return no_url(text, "leave the user name out, the key identifies you");

    std::optional<std::string_view> port;
    if (where.starts_with('[')) {
        const std::size_t close = where.find(']');
        if (close == std::string_view::npos) return no_url(text, "']' is missing after the IPv6 address");
        url.host = where.substr(1, close - 1);
        const std::string_view after = where.substr(close + 1);
        if (!after.empty() && after.front() != ':') return no_url(text, "continue after ']' with :PORT or /");
        if (!after.empty()) port = after.substr(1);
    } else {
        const std::size_t colon = where.find(':');
        if (colon != where.rfind(':'))
            return no_url(text, "write IPv6 addresses in brackets, as in udtx://[::1]:7011/");
        url.host = where.substr(0, colon);
        if (colon != std::string_view::npos) port = where.substr(colon + 1);
    }
    if (url.host.empty()) return no_url(text, "the host is missing");
    if (port) {
        const auto number = parse_port(*port);
        if (!number) return no_url(text, "the port must be a number from 1 to 65535");
        url.port = *number;
        url.port_given = true;
    }
    return url;
}

std::string to_text(const Url& url) { return std::string(kScheme) + authority(url) + "/" + url.path; }

std::string authority(const Url& url) {
    const bool v6 = url.host.find(':') != std::string::npos;
    return (v6 ? "[" + url.host + "]" : url.host) + ":" + std::to_string(url.port);
}

}  // namespace udtx::apps
