// Addresses and interfaces of the system.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "udtx/address.hpp"

namespace udtx::io {

// Converts between Address and sockaddr. An IPv4-mapped IPv6 address always becomes IPv4, so that one peer has one
// Address.

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

enum class TcpEnd : std::uint8_t { here, there };
/// The address of one end of a TCP connection, with Carrier::tcp; Family::none: there is none.
[[nodiscard]] Address tcp_address(int fd, TcpEnd end) noexcept;

[[nodiscard]] Address make_address(const in_addr& ip, std::uint16_t port) noexcept;
[[nodiscard]] Address make_address(const in6_addr& ip, std::uint16_t port, std::uint32_t scope) noexcept;

// Follows interfaces by name. An interface that is deleted and made again (a modem, a driver) keeps its name but gets
// another index.

class InterfaceIndices {
  public:
    /// Converts index to name and name to index. The result is empty, or 0, if the interface does not exist.
    struct Lookup {
        std::function<std::string(std::uint32_t)> name;
        std::function<std::uint32_t(const std::string&)> index;
    };
    static Lookup system();

    explicit InterfaceIndices(Lookup lookup = system()) : lookup_(std::move(lookup)) {}

    /// The present index of the interface that had the index `first` when it was first looked up. 0 stays 0.
    [[nodiscard]] std::uint32_t current(std::uint32_t first);
    /// Call it after ENODEV. True if an interface of that name now has another index.
    [[nodiscard]] bool renew(std::uint32_t first);

  private:
    struct Known {
        std::uint32_t first = 0;
        std::uint32_t current = 0;
        std::string name;
    };
    /// Null while no interface with this index has been seen.
    Known* find(std::uint32_t first);

    Lookup lookup_;
    std::vector<Known> known_;
};

}  // namespace udtx::io
