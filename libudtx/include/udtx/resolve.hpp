// Host names to addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

enum class AddressChoice { any, v4_only, v6_only };

/// Addresses of `host` in the system's order of preference, at least one. Blocks. "" and "*" give the wildcard
/// addresses for listening (:: first, which takes IPv4 too). IPv6 literals may stand in brackets and carry a %zone.
[[nodiscard]] UDTX_EXPORT Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port,
                                                               AddressChoice choice = AddressChoice::any);

struct HostPort {
    std::string host;
    std::uint16_t port = 0;
};
/// "host:port", "[v6]:port", ":port", "port". A v6 literal without brackets is refused: its port is ambiguous.
[[nodiscard]] UDTX_EXPORT Result<HostPort> parse_host_port(const std::string& text);

}  // namespace udtx
