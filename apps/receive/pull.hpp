// The source of a pull, and how to reach it: over ssh, or at a server by its URL.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dial/explain.hpp"
#include "dial/job_record.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/transfer/options.hpp"

namespace udtx::apps {

struct PullRoute {
    Credentials credentials;
    std::vector<Address> addresses;
    std::string peer;                   ///< name for messages
    std::shared_ptr<RemoteEnd> remote;  ///< over ssh; must live as long as the transfer
    std::optional<Duration> left{};     ///< rest of the user's patience, when reconnecting
    bool known = false;                 ///< `remote` had a connection before, so this one needs no login
};

/// Over ssh it blocks until the sender listens, unless one is known.
[[nodiscard]] Result<PullRoute> find_route(const RecvRun& run, const std::shared_ptr<RemoteEnd>& known);
/// The destination and the selection.
[[nodiscard]] transfer::ReceiveOptions receive_options(const RecvRun& run, const PullRoute& route);
[[nodiscard]] DialContext context_of(const RecvCommand& command, const PullRoute& route, bool connected);
/// The record of the shard's job. Call it only with a shard.
[[nodiscard]] Result<JobRecord> open_job_record(const RecvCommand& command);
/// True if the same command continues an aborted transfer.
[[nodiscard]] bool resumable(const RecvCommand& command);

// Pulls: udtx-recv HOST:SRC... DEST starts udtx-send over ssh, and udtx-recv udtx://HOST/SRC... DEST asks a server.
// This side connects and receives.

using LeaveReceiver = void (*)(const RecvRun&, const FinalReport&);
/// Runs a pull. Calls `leave` in the same cases as run_receiver().
[[nodiscard]] FinalReport run_pull(const RecvRun& run, LeaveReceiver leave);

}  // namespace udtx::apps
