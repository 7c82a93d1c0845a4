// The interfaces of this host, as whoever says what is wrong with a path needs them.
#pragma once

#include <optional>
#include <string>

#include "udtx/address.hpp"

namespace udtx::apps {

/// Bytes of an IP packet that Ethernet carries.
inline constexpr unsigned kUsualMtu = 1500;

/// The interface that has an address of this host.
struct LocalLink {
    std::string name;
    unsigned mtu = 0;
};
[[nodiscard]] std::optional<LocalLink> link_of(const Address& local);
/// Nothing where the system does not say.
[[nodiscard]] std::optional<unsigned> mtu_of(const std::string& interface);

}  // namespace udtx::apps
