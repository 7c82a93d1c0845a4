// The network interfaces of this host and their addresses. PathRequest::local may name them.
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
    std::string name;                ///< name, for example "eth0"
    std::uint32_t index = 0;         ///< number in the system; Address::scope of its link-local addresses
    std::vector<Address> addresses;  ///< addresses without ports; link-local ones are last
};

/// Lists all interfaces, including those that are down. network: the system call failed.
[[nodiscard]] UDTX_EXPORT Result<std::vector<Interface>> list_interfaces();

}  // namespace udtx
