// Host names to addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// Which versions of IP to take.
enum class AddressChoice { any, v4_only, v6_only };

/// Addresses of `host` in the order of the system, at least one. Blocks. "" and "*" give the addresses to listen on all
/// interfaces: :: first, which takes IPv4 too. IPv6 addresses may be in brackets and have a %zone. network: the name is
/// not known.
[[nodiscard]] UDTX_EXPORT Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port,
                                                               AddressChoice choice = AddressChoice::any);

/// A host and a UDP port.
struct HostPort {
    std::string host;        ///< without brackets; empty: all addresses
    std::uint16_t port = 0;  ///< UDP port
};
/// Reads "host:port", "[v6]:port", ":port" or "port". invalid_argument: it is none of these. An IPv6 address without
/// brackets is none, since its port would be ambiguous.
[[nodiscard]] UDTX_EXPORT Result<HostPort> parse_host_port(const std::string& text);

}  // namespace udtx
