// Which part of an address says whose host it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "udtx/address.hpp"

namespace udtx {

/// One host may have all addresses of an IPv6 /64, but on its own link each is another host's.
inline std::span<const std::uint8_t> host_part(const Address& address) noexcept {
    const std::span<const std::uint8_t> ip(address.ip);
    if (address.family != Address::Family::v6) return ip.first(4);
    const bool link_local = ip[0] == 0xfe && (ip[1] & 0xc0U) == 0x80;
    return link_local ? ip : ip.first(8);
}

}  // namespace udtx
