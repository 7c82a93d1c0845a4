// Converts between Address and sockaddr. An IPv4-mapped IPv6 address always becomes IPv4, so that one peer has one
// Address.
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

/// `family`: the socket's. On an AF_INET6 socket an IPv4 address becomes ::ffff:a.b.c.d. The length is 0 if such a
/// socket cannot use the address.
[[nodiscard]] SocketAddress to_socket_address(const Address& address, int family) noexcept;
/// Returns Family::none for every family except IPv4 and IPv6.
[[nodiscard]] Address from_socket_address(const sockaddr* address, socklen_t length) noexcept;

[[nodiscard]] Address make_address(const in_addr& ip, std::uint16_t port) noexcept;
[[nodiscard]] Address make_address(const in6_addr& ip, std::uint16_t port, std::uint32_t scope) noexcept;

}  // namespace udtx::io
