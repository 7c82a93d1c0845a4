// Where a pull comes from, and how that place is reached: over ssh, or from a server by its URL.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dial/explain.hpp"
#include "options/run.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::apps {

struct PullRoute {
    Credentials credentials;
    std::vector<Address> addresses;
    std::string peer;                   ///< for people
    std::unique_ptr<RemoteEnd> remote;  ///< over ssh: it lives as long as the transfer
    std::optional<Duration> left{};     ///< of the user's patience, when it is dialled again
};

/// Over ssh it blocks until the sender there listens.
[[nodiscard]] Result<PullRoute> find_route(const RecvRun& run);
/// Where things land, and what is asked for.
[[nodiscard]] transfer::ReceiveOptions receive_options(const RecvRun& run, const PullRoute& route);
[[nodiscard]] DialContext context_of(const RecvCommand& command, const PullRoute& route, bool connected);
/// The same command continues.
[[nodiscard]] bool resumable(const RecvCommand& command);

}  // namespace udtx::apps
