// Network interfaces of this host and their addresses, which PathRequest::local may name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// A network interface.
struct Interface {
    std::string name;                ///< "eth0"
    std::uint32_t index = 0;         ///< its number in the system; Address::scope of its link-local addresses
    std::vector<Address> addresses;  ///< without ports; link-local ones last
};

/// All interfaces, those that are down too. network: the system does not list them.
[[nodiscard]] UDTX_EXPORT Result<std::vector<Interface>> list_interfaces();

}  // namespace udtx
