// How the side that connects finds the other end: the host of a URL, a program that ssh starts, or an end that was met
// with a code.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/process.hpp"
#include "observe/final_report.hpp"
#include "options/commands.hpp"
#include "rendezvous/met_end.hpp"
#include "ssh/bootstrap.hpp"
#include "ssh/remote_end.hpp"
#include "udtx/address.hpp"
#include "udtx/carrier.hpp"
#include "udtx/config.hpp"
#include "udtx/credentials.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {

/// How to reach the other end: by a URL with the user's keys, or over ssh or by a code with a key made for this run.
struct Route {
    Credentials credentials;
    std::vector<Address> addresses;
    std::shared_ptr<RemoteEnd> remote{};  ///< over ssh; must live as long as the transfer or probe
    std::shared_ptr<MetEnd> met{};        ///< by a code; the same
    std::optional<Duration> left{};       ///< rest of the user's patience, when reconnecting
    bool known = false;                   ///< `remote` had a connection before, so this one needs no login
};
/// Over ssh it blocks until `program` listens on the other host. `request` is its task; without `may_ask`, a login that
/// needs a password fails. With a code it prints the code,
/// and blocks until the other end has come.
[[nodiscard]] Result<Route> find_route(const TransferCommand& command, const Run& run, const std::string& program,
                                       BootstrapFields request, bool may_ask = true);
/// The options of a connection over the route. invalid_argument: a path of the user is not possible.
[[nodiscard]] Result<transfer::PeerOptions> connection_over(const TransferCommand& command, const Route& route,
                                                            TransportConfig config);
/// Turns an error of the library into one line with cause and remedy.
[[nodiscard]] std::string explain(const Error& error, const TransferCommand& command, const Route& route,
                                  bool connected);
/// The way over the end that was met before.
[[nodiscard]] Route route_over(std::shared_ptr<MetEnd> met);
/// The byte stream to the other end, once there is one; null: there is none.
[[nodiscard]] std::shared_ptr<Channel> channel_of(const Route& route);
/// For a transfer that did not go over UDP all the time: what would make it faster.
[[nodiscard]] std::string how_to_use_udp(const TransferCommand& command, const Route& route);

}  // namespace udtx::apps
