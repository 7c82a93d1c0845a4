// The paths of a session: what a program requests, and which events it receives (docs/inside/multipath.md).
#pragma once

#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/ids.hpp"
#include "udtx/result.hpp"
#include "udtx/stats.hpp"

namespace udtx {

/// Upper limit of PathRequest::weight.
inline constexpr double kMaxPathWeight = 1e6;

/// A path that a program requests.
struct PathRequest {
    /// Local address or interface to which the path is bound. Empty: the routing table decides.
    std::string local{};
    /// Address or name of the peer on this path. The port is that of the session. Empty: the host of the session.
    std::string remote{};
    double weight = 1.0;   ///< share of the data with the scheduler `weighted`; above 0, at most kMaxPathWeight
    bool standby = false;  ///< true: the path carries stream bytes only while no other path works
};

/// Checks whether this host can open all of `paths` to a peer with the addresses `peer`. Resolves names and blocks.
/// invalid_argument: a path is not possible; the message is "LOCAL[,REMOTE]: " and the cause.
[[nodiscard]] UDTX_EXPORT Result<void> check_paths(const std::vector<PathRequest>& paths,
                                                   const std::vector<Address>& peer,
                                                   AddressChoice choice = AddressChoice::any);

/// The state of a path has changed: it was opened, suspended, resumed or closed. The first path has events only while
/// other paths exist.
struct PathEvent {
    PathId id;                            ///< which path
    PathState state = PathState::active;  ///< its new state
    Address local;                        ///< local address; Family::none: the routing table decides
    Address remote;                       ///< address of the peer
    bool unreachable = false;             ///< with `probing`: no reply for about 6 s; probing continues
};

}  // namespace udtx
