// The way to a receiver: by a URL with the user's keys, or over ssh with a key made for this run.
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
    std::unique_ptr<RemoteEnd> remote{};  ///< over ssh: it lives as long as what it was started for
    std::optional<Duration> left{};       ///< of the user's patience, when it is dialled again
};
/// `request`: over ssh, what the receiver is started for; the flags for it are added here.
[[nodiscard]] Result<SendRoute> find_route(const SendRun& run, BootstrapFields request);

/// Who is dialled, and how that went so far.
[[nodiscard]] DialContext context_of(const SendCommand& command, const SendRoute& route, bool connected);

}  // namespace udtx::apps
