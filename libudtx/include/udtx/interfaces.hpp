// The network interfaces of this host and their addresses: what PathRequest::local may name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// One of them.
struct Interface {
    std::string name;                ///< "eth0"
    std::uint32_t index = 0;         ///< by which the system knows it; a scope of Address
    std::vector<Address> addresses;  ///< without ports; link-local ones last
};

/// All of them, also those that are down. network: the system does not tell.
[[nodiscard]] UDTX_EXPORT Result<std::vector<Interface>> list_interfaces();

}  // namespace udtx
