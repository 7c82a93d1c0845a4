// From what the library reports to one line that names cause and remedy.
#pragma once

#include <string>

#include "common/url.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/config.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

struct DialContext {
    Url url;
    std::string targets{};  ///< who is dialled, where that is not `url`
    bool connected = false;
    bool identity = false;  ///< pinned keys instead of a shared one
    Duration patience{};    ///< how long the handshake was waited for
    std::string ssh_host;   ///< started there over ssh, and listens for sure; empty: not so
    bool heard = false;     ///< datagrams came there
};
/// Of an end that was started over ssh.
[[nodiscard]] DialContext context_over_ssh(RemoteEnd& remote, const std::string& host, bool connected,
                                           const TransportConfig& config);
[[nodiscard]] std::string explain(const Error& error, const DialContext& context);

}  // namespace udtx::apps
