#include "common/locations.hpp"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "common/command_line.hpp"
#include "common/text.hpp"

namespace udtx::apps {

Result<PortRange> parse_port_range(std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = parse_port(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
    if (!first || !last || *first > *last) {
        return Error{ErrorCode::invalid_argument,
                     "'" + std::string(text) + "' is neither a port (1 to 65535) nor a range such as 60000-60010"};
    }
    return PortRange{*first, *last};
}

std::string to_string(PortRange range) {
    const std::string first = std::to_string(range.first);
    return range.first == range.last ? first : first + "-" + std::to_string(range.last);
}

namespace {

constexpr std::string_view kScheme = "udtx://";

Error no_url(std::string_view text, std::string_view why) {
    return {
        ErrorCode::invalid_argument,
        "'" + std::string(text) + "' is neither [user@]HOST:PATH nor udtx://HOST:PORT/[subdir]: " + std::string(why)};
}

}  // namespace

bool is_percent_encoded(std::string_view text) noexcept {
    for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
        if (!hex_byte(text.substr(at + 1))) return false;
    }
    return true;
}

std::string percent_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto code = text[i] == '%' ? hex_byte(text.substr(i + 1)) : std::nullopt;
        out += code ? static_cast<char>(*code) : text[i];
        if (code) i += 2;
    }
    return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
    const auto port = parse_number<std::uint16_t>(text);
    return port && *port > 0 ? port : std::nullopt;
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

std::string authority(const HostPort& where) {
    const bool v6 = where.host.find(':') != std::string::npos;
    return (v6 ? "[" + where.host + "]" : where.host) + ":" + std::to_string(where.port);
}
std::string authority(const Url& url) { return authority(HostPort{.host = url.host, .port = url.port}); }

Result<HostPort> parse_host(const std::string& text, std::uint16_t usual_port) {
    const bool has_port = text.find(':') != std::string::npos && !text.ends_with(']');
    auto where = parse_host_port(has_port ? text : text + ':' + std::to_string(usual_port));
    if (where && (where->host.empty() || where->port == 0)) {
        return usage("'" + text + "' is not HOST or HOST:PORT");
    }
    return where;
}

namespace {

/// Position of the colon between host and path; npos: there is none.
std::size_t separator(std::string_view text) noexcept {
    const std::size_t at = text.find('@');
    const std::size_t slash = text.find('/');
    const std::size_t host = at != std::string_view::npos && at < slash ? at + 1 : 0;
    if (text.substr(host).starts_with('[')) {
        const std::size_t close = text.find("]:", host);
        return close == std::string_view::npos || close > slash ? std::string_view::npos : close + 1;
    }
    const std::size_t colon = text.find(':', host);
    return colon == host || colon > slash ? std::string_view::npos : colon;
}

/// True if the name is safe in an argument of ssh: ssh must not read it as an option, and a ProxyCommand must not get
/// unusual characters.
bool harmless(std::string_view name) noexcept {
    const auto odd = [](unsigned char c) {
        return c <= ' ' || c == 0x7F || c == '\'' || c == '"' || c == '`' || c == '$';
    };
    return !name.starts_with('-') && std::none_of(name.begin(), name.end(), odd);
}

Error no_target(std::string_view text, std::string_view why) {
    return {ErrorCode::invalid_argument, "'" + std::string(text) + "' is not [user@]host:path: " + std::string(why)};
}

}  // namespace

bool looks_like_ssh(std::string_view text) noexcept {
    return text.find("://") == std::string_view::npos && separator(text) != std::string_view::npos;
}

Result<SshTarget> parse_ssh_target(std::string_view text) {
    const std::size_t colon = separator(text);
    if (colon == std::string_view::npos) return no_target(text, "start it with a host and a colon");
    SshTarget target;
    target.path = text.substr(colon + 1);
    std::string_view login = text.substr(0, colon);
    if (const std::size_t at = login.rfind('@'); at != std::string_view::npos) {
        target.user = login.substr(0, at);
        login.remove_prefix(at + 1);
        if (target.user.empty()) return no_target(text, "the user before '@' is missing");
    }
    if (login.starts_with('[')) login = login.substr(1, login.size() - 2);
    target.host = login;
    if (target.host.empty()) return no_target(text, "the host is missing");
    if (!harmless(target.host) || !harmless(target.user))
        return no_target(text, "ssh does not accept this host or user");
    if (target.path.find('\0') != std::string::npos) return no_target(text, "the path contains a NUL");
    return target;
}

Result<void> check_no_port(const SshTarget& target) {
    const bool address = target.host == "localhost" || target.host.find(':') != std::string::npos ||
                         target.host.find_first_not_of("0123456789.") == std::string::npos;
    const auto port = parse_port(target.path);
    if (!address || !target.user.empty() || !port || *port < 1024) return {};
    const std::string host = target.host.find(':') == std::string::npos ? target.host : "[" + target.host + "]";
    return Error{ErrorCode::invalid_argument, "'" + host + ":" + target.path + "' is the file " + target.path +
                                                  " over ssh: for a server at this port write udtx://" + host + ":" +
                                                  target.path + "/, for the file " + host + ":./" + target.path};
}

namespace {

constexpr std::array<std::pair<SourceShape, std::string_view>, 5> kShapes{{{SourceShape::file, "file"},
                                                                           {SourceShape::directory, "directory"},
                                                                           {SourceShape::contents, "contents"},
                                                                           {SourceShape::several, "several"},
                                                                           {SourceShape::stream, "stream"}}};

}  // namespace

std::string_view to_string(SourceShape shape) noexcept {
    for (const auto& [known, name] : kShapes) {
        if (known == shape) return name;
    }
    return "several";
}

std::optional<SourceShape> parse_source_shape(std::string_view text) noexcept {
    for (const auto& [shape, name] : kShapes) {
        if (name == text) return shape;
    }
    return std::nullopt;
}

std::string expand_home(const std::string& path) {
    if (!path.starts_with('~')) return path;
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string user = path.substr(1, slash - 1);
    if (user.empty()) {
        const char* home = std::getenv("HOME");
        return home == nullptr ? path : home + path.substr(slash);
    }
    const passwd* entry = ::getpwnam(user.c_str());  // NOLINT(concurrency-mt-unsafe): before there are threads
    return entry == nullptr ? path : entry->pw_dir + path.substr(slash);
}

}  // namespace udtx::apps
