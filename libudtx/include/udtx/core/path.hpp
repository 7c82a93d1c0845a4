// Addresses and options of paths.
#pragma once

#include <cstdint>

#include "udtx/address.hpp"

namespace udtx::proto {

/// How a path is used. The side that connects decides.
struct PathOptions {
    bool standby = false;               ///< true: the path carries stream bytes only while no other path works
    double weight = 1.0;                ///< share of the data with the scheduler `weighted`; above 0
    std::uint32_t interface_index = 0;  ///< outgoing interface; 0: the routing table decides
};

/// The two addresses of a path.
struct PathAddresses {
    Address local;        ///< local address, its port is ignored; Family::none: the routing table decides
    Address remote;       ///< address of the peer
    PathOptions options;  ///< how the path is used
    /// True if a datagram that `at` received from `peer` may have taken this path. An unknown local address matches
    /// any.
    [[nodiscard]] bool matches(const Address& at, const Address& peer) const noexcept {
        const bool unknown = local.family == Address::Family::none || at.family == Address::Family::none;
        return remote == peer && (unknown || (local.family == at.family && local.ip == at.ip));
    }
};

}  // namespace udtx::proto
