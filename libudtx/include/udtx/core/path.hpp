// Addresses of paths, and how to use them.
#pragma once

#include <cstdint>

#include "udtx/address.hpp"

namespace udtx::proto {

/// How the side that dials wants a path to be used.
struct PathOptions {
    bool standby = false;               ///< carries stream bytes only while no other path works
    double weight = 1.0;                ///< share of the data with the scheduler `weighted`; above 0
    std::uint32_t interface_index = 0;  ///< by which it leaves; 0: as the routes say
};

/// Where a path goes.
struct PathAddresses {
    Address local;        ///< of this end; Family::none: as the routes say. The port does not count
    Address remote;       ///< of the peer
    PathOptions options;  ///< how to use it
    /// Whether a datagram that came to `at` from `peer` may have come by this path. An address of this end that is not
    /// known matches any.
    [[nodiscard]] bool matches(const Address& at, const Address& peer) const noexcept {
        const bool unknown = local.family == Address::Family::none || at.family == Address::Family::none;
        return remote == peer && (unknown || (local.family == at.family && local.ip == at.ip));
    }
};

}  // namespace udtx::proto
