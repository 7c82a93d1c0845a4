// Resolves udtx://HOST:PORT to addresses, and loads the keys for authentication.
#pragma once

#include <string>
#include <vector>

#include "common/locations.hpp"
#include "options/common_options.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/address.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

/// The own key and the keys of --pin.
[[nodiscard]] Result<Credentials> dialling_credentials(const CommonOptions& options, const std::string& pin);
/// The caller tries them in this order.
[[nodiscard]] Result<std::vector<Address>> addresses_of(const Url& url, AddressChoice choice);

// Turns an error of the library into one line with cause and remedy.

struct DialContext {
    Url url;
    std::string targets{};  ///< what this side connects to, if it is not `url`
    bool connected = false;
    bool identity = false;  ///< pinned keys instead of a shared one
    Duration patience{};    ///< how long this side waited for the handshake
    std::string ssh_host;   ///< host on which ssh started the remote end, which certainly listens; empty: without ssh
    bool heard = false;     ///< the remote end received datagrams
    bool known = false;     ///< the remote end had a connection before
};
/// The context for a remote end that was started over ssh.
[[nodiscard]] DialContext context_over_ssh(RemoteEnd& remote, const std::string& host, bool connected,
                                           const TransportConfig& config);
[[nodiscard]] std::string explain(const Error& error, const DialContext& context);

}  // namespace udtx::apps
