// Where a pull comes from, and how that place is reached: over ssh, or from a server by its URL.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dial/dial_handler.hpp"
#include "dial/explain.hpp"
#include "options/run.hpp"
#include "ssh/remote_end.hpp"
#include "transfer/job/receive_job.hpp"

namespace udtx::apps {

/// Sources that are not there, while others are. A server tells of them on the protocol thread.
class MissingSources {
  public:
    void add(std::string path, const std::string& reason);
    [[nodiscard]] std::vector<transfer::FailedFile> all() const;

  private:
    mutable std::mutex mutex_;
    std::vector<transfer::FailedFile> files_;
};

struct PullRoute {
    Credentials credentials;
    std::vector<proto::PathAddresses> ways;
    std::string peer;                   ///< for people
    std::unique_ptr<RemoteEnd> remote;  ///< over ssh: it lives as long as the transfer
    std::shared_ptr<MissingSources> missing = std::make_shared<MissingSources>();
    std::optional<Duration> left{};  ///< of the user's patience, when it is dialled again
};

/// Over ssh it blocks until the sender there listens. `again`: there was a connection before.
[[nodiscard]] Result<PullRoute> find_route(const RecvRun& run, bool again);
/// Where things land, and what is asked for.
[[nodiscard]] Result<transfer::ReceiveJobOptions> where_to(const RecvRun& run, const PullRoute& route);
[[nodiscard]] DialContext context_of(const RecvCommand& command, const PullRoute& route, const DialHandler& dial);
/// The same command continues.
[[nodiscard]] bool resumable(const RecvCommand& command);

}  // namespace udtx::apps
