// The part of an address that identifies its host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "udtx/address.hpp"

namespace udtx {

/// The first 64 bits of an IPv6 address, because one host may own a whole /64. Link-local addresses count in full:
/// there each address belongs to another host.
inline std::span<const std::uint8_t> host_part(const Address& address) noexcept {
    const std::span<const std::uint8_t> ip(address.ip);
    if (address.family != Address::Family::v6) return ip.first(4);
    const bool link_local = ip[0] == 0xfe && (ip[1] & 0xc0U) == 0x80;
    return link_local ? ip : ip.first(8);
}

}  // namespace udtx
