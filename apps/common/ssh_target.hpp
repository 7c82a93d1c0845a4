// [user@]host:path, as scp writes it.
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

    /// "user@host", as ssh takes it.
    [[nodiscard]] std::string login() const { return user.empty() ? host : user + '@' + host; }
};

/// scp's rule: a colon before any slash, with something before it; what is local has a slash first ("./a:b"). URLs are
/// not of this form.
[[nodiscard]] bool looks_like_ssh(std::string_view text) noexcept;
Result<SshTarget> parse_ssh_target(std::string_view text);

}  // namespace udtx::apps
