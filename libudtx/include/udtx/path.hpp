// Several paths of one session: what a program asks for, and what it is told (docs/inside/multipath.md).
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

/// Most of PathRequest::weight.
inline constexpr double kMaxPathWeight = 1e6;

/// A path that a program asks for.
struct PathRequest {
    /// An address of this host, or an interface, to which the path is then bound. Empty: as the routes say.
    std::string local{};
    /// Address or name of the peer on this path; the port is that of the session. Empty: the host of the session.
    std::string remote{};
    double weight = 1.0;   ///< share of the data with the scheduler `weighted`; above 0, at most kMaxPathWeight
    bool standby = false;  ///< carries stream bytes only while no other path works
};

/// Whether this host can have all of `paths` to a peer at the addresses `peer`. Looks names up, and blocks.
/// invalid_argument: it cannot; the message is "LOCAL[,REMOTE]: what is wrong with it".
[[nodiscard]] UDTX_EXPORT Result<void> check_paths(const std::vector<PathRequest>& paths,
                                                   const std::vector<Address>& peer,
                                                   AddressChoice choice = AddressChoice::any);

/// A path came, fell silent, came back or went. The first path has events only while there are others.
struct PathEvent {
    PathId id;                            ///< which path
    PathState state = PathState::active;  ///< its new state
    Address local;                        ///< address of this end; Family::none: as the routes say
    Address remote;                       ///< address of the peer
    bool unreachable = false;             ///< of `probing`: nothing has come back for about 6 s; the probing goes on
};

}  // namespace udtx
