// Network interfaces of this host, for messages about a path's faults.
#pragma once

#include <optional>
#include <string>

#include "udtx/address.hpp"

namespace udtx::apps {

/// Bytes: the largest IP packet that Ethernet carries.
inline constexpr unsigned kUsualMtu = 1500;

/// An interface of this host. link_of() finds the one that has the address `local`.
struct LocalLink {
    std::string name;
    unsigned mtu = 0;
};
[[nodiscard]] std::optional<LocalLink> link_of(const Address& local);
/// Empty if the system does not report an MTU.
[[nodiscard]] std::optional<unsigned> mtu_of(const std::string& interface);

}  // namespace udtx::apps
