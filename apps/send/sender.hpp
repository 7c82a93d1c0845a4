// Checks the sources before this side connects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dial/explain.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "ssh/bootstrap.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/credentials.hpp"
#include "udtx/transfer/options.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::apps {

struct CheckedSources {
    std::vector<std::string> usable;  ///< "dir/" becomes "dir/.", which means its contents
    std::vector<transfer::FailedFile> failed;
};
[[nodiscard]] CheckedSources check_sources(const std::vector<std::string>& sources);

// Converts the command line to the options of a transfer.

/// Identifies the transfer. The number is the same for each run of a command; 0: the transfer cannot be continued.
/// `where`: the destination as typed, with the host if the path alone does not identify it.
[[nodiscard]] std::uint64_t number_of(const SendCommand& command, const std::vector<std::string>& sources,
                                      const std::string& where);
/// `where` is the destination, which the receiver checks.
[[nodiscard]] transfer::SendOptions send_options(const SendCommand& command, std::vector<std::string> sources,
                                                 const std::string& where);

// The route to a receiver: by a URL with the user's keys, or over ssh with a key made for this run.

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

// Runs udtx-send once: from checked options to the report.

using LeaveSender = void (*)(const SendRun&, const FinalReport&);
/// Calls `leave`, which must not return, if threads may still be blocked in a disk call. That is after an interruption,
/// and if a transfer does not end in time. Otherwise returns the report.
[[nodiscard]] FinalReport run_sender(const SendRun& run, LeaveSender leave);

}  // namespace udtx::apps
