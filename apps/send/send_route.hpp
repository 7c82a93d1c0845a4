// The route to a receiver: by a URL with the user's keys, or over ssh with a key made for this run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dial/explain.hpp"
#include "options/run.hpp"
#include "ssh/bootstrap_fields.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/credentials.hpp"

namespace udtx::apps {

struct SendRoute {
    Credentials credentials;
    std::vector<Address> addresses;
    std::shared_ptr<RemoteEnd> remote{};  ///< over ssh; must live as long as the transfer or probe
    std::optional<Duration> left{};       ///< rest of the user's patience, when reconnecting
    bool known = false;                   ///< `remote` had a connection before, so this one needs no login
};
/// `request`: over ssh, the task of the receiver. This function adds the flags for it.
[[nodiscard]] Result<SendRoute> find_route(const SendRun& run, BootstrapFields request);

/// What this side connects to, and the state of the connection.
[[nodiscard]] DialContext context_of(const SendCommand& command, const SendRoute& route, bool connected);

}  // namespace udtx::apps
