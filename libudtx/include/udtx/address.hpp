// UDP addresses, without headers of the socket interface: how to resolve names, and which interfaces this host has.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "udtx/export.hpp"
#include "udtx/result.hpp"

namespace udtx {

// A UDP address that needs no headers of the socket interface.

/// What carries the datagrams to an address. All but udp are byte streams, which lose nothing and limit their own rate.
enum class Carrier : std::uint8_t {
    udp,
    tcp,    ///< a TLS connection over TCP
    ssh,    ///< standard input and output of ssh; the address has no IP address
    relay,  ///< a relay that passes on the bytes of both ends; the address has no IP address
};

/// An IP address, a port, and what carries the datagrams there.
struct Address {
    /// IP version. none: the object has no IP address.
    enum class Family : std::uint8_t { none, v4, v6 };

    Family family = Family::none;       ///< IP version
    std::uint16_t port = 0;             ///< port in host byte order
    std::array<std::uint8_t, 16> ip{};  ///< IP address in network byte order; IPv4 uses the first four bytes
    std::uint32_t scope = 0;            ///< IPv6 zone index; 0: none
    Carrier carrier = Carrier::udp;     ///< what carries the datagrams

    friend auto operator<=>(const Address&, const Address&) noexcept = default;  ///< Compares all members.
};

/// "udp", "tcp", "ssh" or "relay".
[[nodiscard]] UDTX_EXPORT const char* carrier_name(Carrier carrier) noexcept;
/// Formats "192.0.2.1:7000" or "[2001:db8::1]:7000", and the addresses of ssh and of a relay as "ssh" and "relay". The
/// result is "unknown" for other addresses of Family::none.
[[nodiscard]] UDTX_EXPORT std::string to_string(const Address& address);
/// Formats the address without the port. The result is "any address" for Family::none, except with
/// ssh and a relay, as above.
[[nodiscard]] UDTX_EXPORT std::string host_text(const Address& address);

// Resolves host names to addresses.

/// Formats the address with what carries the datagrams there: "192.0.2.1:7000/udp", "192.0.2.1:443/tcp" or "ssh".
[[nodiscard]] UDTX_EXPORT std::string text_with_carrier(const Address& address);

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

// The network interfaces of this host and their addresses. PathRequest::local may name them.

/// A network interface.
struct Interface {
    std::string name;                ///< name, for example "eth0"
    std::uint32_t index = 0;         ///< number in the system; Address::scope of its link-local addresses
    std::vector<Address> addresses;  ///< addresses without ports; link-local ones are last
};

/// Lists all interfaces, including those that are down. network: the system call failed.
[[nodiscard]] UDTX_EXPORT Result<std::vector<Interface>> list_interfaces();

}  // namespace udtx
