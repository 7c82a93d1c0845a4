// A UDP address, without headers of the socket interface.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "udtx/export.hpp"

namespace udtx {

/// IP address and UDP port; a value.
struct Address {
    /// Version of IP; none: no address.
    enum class Family : std::uint8_t { none, v4, v6 };

    Family family = Family::none;       ///< version of IP
    std::uint16_t port = 0;             ///< host byte order
    std::array<std::uint8_t, 16> ip{};  ///< network byte order; IPv4 uses the first four bytes
    std::uint32_t scope = 0;            ///< IPv6 zone index, 0 if none

    friend auto operator<=>(const Address&, const Address&) noexcept = default;  ///< By all members.
};

/// "192.0.2.1:7000" or "[2001:db8::1]:7000"; "unknown" for Family::none.
[[nodiscard]] UDTX_EXPORT std::string to_string(const Address& address);
/// The same without the port; "any address" for Family::none.
[[nodiscard]] UDTX_EXPORT std::string host_text(const Address& address);

}  // namespace udtx
