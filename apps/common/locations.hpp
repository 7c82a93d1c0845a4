// Sources and destinations as users write them: URLs, HOST:PATH, local paths, ports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "udtx/address.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::apps {

// A UDP port, or a range of which udtx takes a free one.

struct PortRange {
    std::uint16_t first = 0;  ///< 0: the system chooses
    std::uint16_t last = 0;

    friend bool operator==(const PortRange&, const PortRange&) = default;
};

/// Parses "60000" or "60000-60010".
Result<PortRange> parse_port_range(std::string_view text);
[[nodiscard]] std::string to_string(PortRange range);

// udtx://HOST[:PORT]/[subdir], the destination of udtx-send.

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
[[nodiscard]] std::string authority(const HostPort& where);
/// Parses "HOST" or "HOST:PORT", in which an IPv6 address has brackets.
[[nodiscard]] Result<HostPort> parse_host(const std::string& text, std::uint16_t usual_port);

// Parses [user@]host:path, the form of scp.

struct SshTarget {
    std::string user;  ///< empty: ssh decides
    std::string host;  ///< without brackets; may be an alias of ~/.ssh/config
    std::string path;  ///< as typed; empty: the home directory

    /// "user@host", the form that ssh takes.
    [[nodiscard]] std::string login() const { return user.empty() ? host : user + '@' + host; }
};

/// True by scp's rule: a colon before any slash, with at least one character before it. A local path with a colon needs
/// a slash first ("./a:b"). URLs do not have this form.
[[nodiscard]] bool looks_like_ssh(std::string_view text) noexcept;
Result<SshTarget> parse_ssh_target(std::string_view text);

/// invalid_argument: the target is an address with a port, as for a server. Over ssh it would be a file of that name.
Result<void> check_no_port(const SshTarget& target);

// Sources and destinations as users type them and as they are sent over ssh.

using transfer::find_landing;
using transfer::is_fresh;
using transfer::LandingPlace;
using transfer::names_of;
using transfer::shape_of;
using transfer::SourceShape;

[[nodiscard]] std::string_view to_string(SourceShape shape) noexcept;
[[nodiscard]] std::optional<SourceShape> parse_source_shape(std::string_view text) noexcept;

/// Expands "~" and "~user" at the front, as a shell does.
[[nodiscard]] std::string expand_home(const std::string& path);

}  // namespace udtx::apps
