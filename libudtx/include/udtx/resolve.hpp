// Resolves host names to addresses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

/// Which IP versions to use.
enum class AddressChoice { any, v4_only, v6_only };

/// Returns at least one address of `host`, in the order of the system. Blocks. "" and "*" return the addresses for
/// listening on all interfaces: first ::, which also accepts IPv4. IPv6 addresses may be in brackets and may have a
/// %zone. network: the name is unknown.
[[nodiscard]] UDTX_EXPORT Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port,
                                                               AddressChoice choice = AddressChoice::any);

/// A host and a UDP port.
struct HostPort {
    std::string host;        ///< host without brackets; empty: all addresses
    std::uint16_t port = 0;  ///< UDP port
};
/// Parses "host:port", "[v6]:port", ":port" or "port". invalid_argument: the text has another form. An IPv6 address
/// needs brackets, because its port would be ambiguous without them.
[[nodiscard]] UDTX_EXPORT Result<HostPort> parse_host_port(const std::string& text);

}  // namespace udtx
