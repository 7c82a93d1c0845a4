// Address <-> sockaddr. IPv4-mapped IPv6 addresses are always shown as IPv4, so that one peer has one Address.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "udtx/address.hpp"

namespace udtx::io {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
};

/// `family` is the socket's: an IPv4 address on an AF_INET6 socket becomes ::ffff:a.b.c.d. Length 0 when the address
/// cannot be used on such a socket.
[[nodiscard]] SocketAddress to_socket_address(const Address& address, int family) noexcept;
/// Family::none for anything but IPv4 and IPv6.
[[nodiscard]] Address from_socket_address(const sockaddr* address, socklen_t length) noexcept;

[[nodiscard]] Address make_address(const in_addr& ip, std::uint16_t port) noexcept;
[[nodiscard]] Address make_address(const in6_addr& ip, std::uint16_t port, std::uint32_t scope) noexcept;

}  // namespace udtx::io
