#include "udtx/resolve.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <system_error>

#include "io/address_convert.hpp"
#include "os/system_failure.hpp"

namespace udtx {
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
