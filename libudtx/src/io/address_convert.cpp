#include "io/address_convert.hpp"

#include <algorithm>
#include <cstring>

namespace udtx::io {
namespace {

// ::ffff:0:0/96 (RFC 4291, section 2.5.5.2).
constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

Address make_address(const in_addr& ip, std::uint16_t port) noexcept {
    Address result;
    result.family = Address::Family::v4;
    result.port = port;
    std::memcpy(result.ip.data(), &ip, 4);
    return result;
}

Address make_address(const in6_addr& ip, std::uint16_t port, std::uint32_t scope) noexcept {
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &ip, 16);
    Address result;
    result.port = port;
    if (std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin())) {
        result.family = Address::Family::v4;
        std::copy(bytes.begin() + 12, bytes.end(), result.ip.begin());
        return result;
    }
    result.family = Address::Family::v6;
    result.ip = bytes;
    result.scope = scope;
    return result;
}

SocketAddress to_socket_address(const Address& address, int family) noexcept {
    SocketAddress result;
    if (address.family == Address::Family::v4 && family == AF_INET) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(address.port);
        std::memcpy(&in.sin_addr, address.ip.data(), 4);
        std::memcpy(&result.storage, &in, sizeof in);
        result.length = sizeof in;
    } else if (address.family != Address::Family::none && family == AF_INET6) {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(address.port);
        auto* ip = reinterpret_cast<std::uint8_t*>(&in.sin6_addr);
        if (address.family == Address::Family::v4) {
            std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), ip);
            std::copy_n(address.ip.begin(), 4, ip + 12);
        } else {
            std::copy(address.ip.begin(), address.ip.end(), ip);
            in.sin6_scope_id = address.scope;
        }
        std::memcpy(&result.storage, &in, sizeof in);
        result.length = sizeof in;
    }
    return result;
}

Address from_socket_address(const sockaddr* address, socklen_t length) noexcept {
    if (address == nullptr) return {};
    if (address->sa_family == AF_INET && length >= static_cast<socklen_t>(sizeof(sockaddr_in))) {
        sockaddr_in in{};
        std::memcpy(&in, address, sizeof in);
        return make_address(in.sin_addr, ntohs(in.sin_port));
    }
    if (address->sa_family == AF_INET6 && length >= static_cast<socklen_t>(sizeof(sockaddr_in6))) {
        sockaddr_in6 in{};
        std::memcpy(&in, address, sizeof in);
        return make_address(in.sin6_addr, ntohs(in.sin6_port), in.sin6_scope_id);
    }
    return {};
}

}  // namespace udtx::io
