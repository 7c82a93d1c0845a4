#include "common/ssh_target.hpp"

#include <algorithm>
#include <cstddef>

#include "common/url.hpp"

namespace udtx::apps {
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

}  // namespace udtx::apps
