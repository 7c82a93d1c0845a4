// Where the paths of a connection go, and how they are to be used.
#pragma once

#include <cstdint>

#include "udtx/address.hpp"

namespace udtx::proto {

/// How we, who dial, want a path to be used.
struct PathOptions {
    bool standby = false;               ///< only for when no other path works
    double weight = 1.0;                ///< above 0: share of the data, for the scheduler `weighted`
    std::uint32_t interface_index = 0;  ///< to leave by; 0: as the routes say
};

/// Where a path goes.
struct PathAddresses {
    Address local;  ///< Family::none: as the routes say; the port is the socket's
    Address remote;
    PathOptions options;
    /// A datagram that came `at` our address from `peer` may have come this way. Where one of the two does not name our
    /// address (the routes decide; a socket that is not told), the peer's has to do.
    [[nodiscard]] bool matches(const Address& at, const Address& peer) const noexcept {
        const bool unknown = local.family == Address::Family::none || at.family == Address::Family::none;
        return remote == peer && (unknown || (local.family == at.family && local.ip == at.ip));
    }
};

}  // namespace udtx::proto
