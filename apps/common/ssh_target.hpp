// Parses [user@]host:path, the form of scp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "udtx/result.hpp"

namespace udtx::apps {

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

}  // namespace udtx::apps
