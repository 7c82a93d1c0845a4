// The network interfaces of this host and their addresses: what PathRequest::local may name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

struct Interface {
    std::string name;
    std::uint32_t index = 0;
    std::vector<Address> addresses;  ///< without ports; link-local ones last
};

[[nodiscard]] UDTX_EXPORT Result<std::vector<Interface>> list_interfaces();

}  // namespace udtx
