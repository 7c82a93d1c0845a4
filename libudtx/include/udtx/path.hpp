// Several paths of one session: what a program asks for, and what it is told. docs/multipath.md says what they are for.
#pragma once

#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"

namespace udtx {

/// One way to the peer.
struct PathRequest {
    /// An address of this host, or the name of an interface, which the path is bound to then. Empty: as the routes say.
    std::string local{};
    /// The peer's address or name on this path, without a port, which is the session's. Empty: the session's host.
    std::string remote{};
    double weight = 1.0;   ///< above 0, at most 10^6: share of the data with the scheduler `weighted`
    bool standby = false;  ///< carries stream bytes only while no other path is usable
};

/// Whether this host has all of `paths` to a peer that is reached by `peer`. invalid_argument: "LOCAL[,REMOTE]: what is
/// wrong with it". Asks for names, and may block.
[[nodiscard]] UDTX_EXPORT Result<void> check_paths(const std::vector<PathRequest>& paths,
                                                   const std::vector<Address>& peer,
                                                   AddressChoice choice = AddressChoice::any);

/// A path other than the first one came, fell silent, came back or went; or the first one did beside others.
struct PathEvent {
    PathId id;
    PathState state = PathState::active;
    Address local;  ///< Family::none: as the routes say; the port is the socket's
    Address remote;
    bool unreachable = false;  ///< probing: it has been asked for some time (about 6 s), and nothing came back yet
};

}  // namespace udtx
