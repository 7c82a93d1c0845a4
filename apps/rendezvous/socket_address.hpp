// Addresses in the form of the socket interface.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "udtx/address.hpp"

namespace udtx::apps {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// `mapped`: for a socket of IPv6, which sends to IPv4 addresses in their IPv6 form (RFC 4291, section 2.5.5.2).
[[nodiscard]] inline SocketAddress socket_address(const Address& address, bool mapped = false) {
    SocketAddress out;
    if (address.family == Address::Family::v4 && !mapped) {
        sockaddr_in v4{};
        v4.sin_family = AF_INET;
        v4.sin_port = htons(address.port);
        std::memcpy(&v4.sin_addr, address.ip.data(), sizeof v4.sin_addr);
        std::memcpy(&out.storage, &v4, sizeof v4);
        out.size = sizeof v4;
        return out;
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    v6.sin6_scope_id = address.scope;
    if (address.family == Address::Family::v4) {
        v6.sin6_addr.s6_addr[10] = v6.sin6_addr.s6_addr[11] = 0xff;
        std::memcpy(v6.sin6_addr.s6_addr + 12, address.ip.data(), 4);
    } else {
        std::memcpy(&v6.sin6_addr, address.ip.data(), sizeof v6.sin6_addr);
    }
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.size = sizeof v6;
    return out;
}

/// IPv4 addresses in their IPv6 form become IPv4 addresses. Family::none: it is another kind of address.
[[nodiscard]] inline Address address_of(const sockaddr* from) {
    Address out;
    if (from->sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, from, sizeof v4);
        out.family = Address::Family::v4;
        out.port = ntohs(v4.sin_port);
        std::memcpy(out.ip.data(), &v4.sin_addr, sizeof v4.sin_addr);
    } else if (from->sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, from, sizeof v6);
        out.port = ntohs(v6.sin6_port);
        if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
            out.family = Address::Family::v4;
            std::copy_n(v6.sin6_addr.s6_addr + 12, 4, out.ip.begin());
        } else {
            out.family = Address::Family::v6;
            out.scope = v6.sin6_scope_id;
            std::memcpy(out.ip.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
        }
    }
    return out;
}

}  // namespace udtx::apps
