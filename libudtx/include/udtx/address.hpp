// A UDP address that needs no headers of the socket interface.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "udtx/export.hpp"

namespace udtx {

/// An IP address and a UDP port.
struct Address {
    /// IP version. none: the object has no address.
    enum class Family : std::uint8_t { none, v4, v6 };

    Family family = Family::none;       ///< IP version
    std::uint16_t port = 0;             ///< UDP port in host byte order
    std::array<std::uint8_t, 16> ip{};  ///< IP address in network byte order; IPv4 uses the first four bytes
    std::uint32_t scope = 0;            ///< IPv6 zone index; 0: none

    friend auto operator<=>(const Address&, const Address&) noexcept = default;  ///< Compares all members.
};

/// Formats "192.0.2.1:7000" or "[2001:db8::1]:7000". The result is "unknown" for Family::none.
[[nodiscard]] UDTX_EXPORT std::string to_string(const Address& address);
/// Formats the address without the port. The result is "any address" for Family::none.
[[nodiscard]] UDTX_EXPORT std::string host_text(const Address& address);

}  // namespace udtx
