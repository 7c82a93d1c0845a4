#include "udtx/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "io/address_convert.hpp"
#include "os/system_failure.hpp"

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

}  // namespace udtx
