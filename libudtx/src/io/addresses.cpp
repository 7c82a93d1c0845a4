#include "io/addresses.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "os/system.hpp"
#include "udtx/address.hpp"

namespace udtx::io {
namespace {

// ::ffff:0:0/96 (RFC 4291, section 2.5.5.2).
constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

Address tcp_address(int fd, TcpEnd end) noexcept {
    SocketAddress found;
    found.length = sizeof found.storage;
    const auto ask = end == TcpEnd::here ? ::getsockname : ::getpeername;
    if (ask(fd, found.get(), &found.length) != 0) return {};
    Address address = from_socket_address(found.get(), found.length);
    address.carrier = Carrier::tcp;
    return address;
}

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

InterfaceIndices::Lookup InterfaceIndices::system() {
    return {.name =
                [](std::uint32_t index) {
                    std::array<char, IF_NAMESIZE> name{};
                    return std::string(::if_indextoname(index, name.data()) != nullptr ? name.data() : "");
                },
            .index = [](const std::string& name) -> std::uint32_t { return ::if_nametoindex(name.c_str()); }};
}

InterfaceIndices::Known* InterfaceIndices::find(std::uint32_t first) {
    if (first == 0) return nullptr;
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.first == first; });
    if (found != known_.end()) return &*found;
    std::string name = lookup_.name(first);
    if (name.empty()) return nullptr;
    return &known_.emplace_back(Known{.first = first, .current = first, .name = std::move(name)});
}

std::uint32_t InterfaceIndices::current(std::uint32_t first) {
    const Known* known = find(first);
    return known != nullptr ? known->current : first;
}

bool InterfaceIndices::renew(std::uint32_t first) {
    Known* known = find(first);
    if (known == nullptr) return false;
    const std::uint32_t now = lookup_.index(known->name);
    if (now == 0 || now == known->current) return false;
    known->current = now;
    return true;
}

}  // namespace udtx::io

namespace udtx {
namespace {

bool is_link_local(const Address& address) {
    if (address.family == Address::Family::v4) return address.ip[0] == 169 && address.ip[1] == 254;
    return address.ip[0] == 0xfe && (address.ip[1] & 0xc0) == 0x80;
}

Interface& named(std::vector<Interface>& all, const char* name) {
    const auto found = std::find_if(all.begin(), all.end(), [name](const Interface& i) { return i.name == name; });
    if (found != all.end()) return *found;
    return all.emplace_back(Interface{name, ::if_nametoindex(name), {}});
}

}  // namespace

Result<std::vector<Interface>> list_interfaces() {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) {
        return system_failure(ErrorCode::network, "cannot list the network interfaces", errno);
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
    std::vector<Interface> all;
    for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
        Interface& interface = named(all, entry->ifa_name);
        if (entry->ifa_addr == nullptr) continue;
        const int family = entry->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        const auto size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        Address address = io::from_socket_address(entry->ifa_addr, static_cast<socklen_t>(size));
        address.port = 0;
        if (address.family != Address::Family::none) interface.addresses.push_back(address);
    }
    for (Interface& interface : all) {
        std::stable_partition(interface.addresses.begin(), interface.addresses.end(),
                              [](const Address& a) { return !is_link_local(a); });
    }
    return all;
}

namespace {

std::string without_brackets(const std::string& host) {
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') return host.substr(1, host.size() - 2);
    return host;
}

std::vector<Address> wildcards(std::uint16_t port, AddressChoice choice) {
    std::vector<Address> result;
    Address any;
    any.port = port;
    any.family = Address::Family::v6;
    if (choice != AddressChoice::v4_only) result.push_back(any);
    any.family = Address::Family::v4;
    if (choice != AddressChoice::v6_only) result.push_back(any);
    return result;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > 65535) return std::nullopt;
    return static_cast<std::uint16_t>(value);
}

Error unknown_name(const std::string& name, int code, int saved_errno) {
    const std::string what = "cannot find the address of \"" + name + '"';
    if (code == EAI_SYSTEM) return system_failure(ErrorCode::network, what, saved_errno);
    return {ErrorCode::network, what + ": " + gai_strerror(code) + "; check the name, or give an IP address"};
}

}  // namespace

Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port, AddressChoice choice) {
    const std::string name = without_brackets(host);
    if (name.empty() || name == "*") return wildcards(port, choice);

    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_protocol = IPPROTO_UDP;
    hints.ai_family = AF_UNSPEC;
    if (choice == AddressChoice::v4_only) hints.ai_family = AF_INET;
    if (choice == AddressChoice::v6_only) hints.ai_family = AF_INET6;
    addrinfo* raw = nullptr;
    const int code = ::getaddrinfo(name.c_str(), nullptr, &hints, &raw);
    const int saved_errno = errno;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(raw, &::freeaddrinfo);
    if (code != 0) return unknown_name(name, code, saved_errno);
    std::vector<Address> result;
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
        Address address = io::from_socket_address(entry->ai_addr, entry->ai_addrlen);
        if (address.family == Address::Family::none) continue;
        address.port = port;
        if (std::find(result.begin(), result.end(), address) == result.end()) result.push_back(address);
    }
    if (result.empty()) return Error{ErrorCode::network, "\"" + name + "\" has no IP address"};
    return result;
}

Result<HostPort> parse_host_port(const std::string& text) {
    const Error bad{ErrorCode::invalid_argument, "\"" + text + "\" is not HOST:PORT, [V6-ADDRESS]:PORT or :PORT"};
    const std::size_t colon = text.rfind(':');
    HostPort result;
    if (colon == std::string::npos) {
        const auto port = parse_port(text);
        if (!port) return bad;
        result.port = *port;
        return result;
    }
    result.host = text.substr(0, colon);
    const auto port = parse_port(std::string_view(text).substr(colon + 1));
    if (!port) return bad;
    result.port = *port;
    const bool bracketed = result.host.starts_with('[') && result.host.ends_with(']');
    if (!bracketed && result.host.find_first_of(":[]") != std::string::npos) return bad;
    result.host = without_brackets(result.host);
    return result;
}

}  // namespace udtx
