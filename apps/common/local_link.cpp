#include "common/local_link.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "udtx/interfaces.hpp"

namespace udtx::apps {

std::optional<unsigned> mtu_of(const std::string& interface) {
    std::ifstream in(std::filesystem::path("/sys/class/net") / interface / "mtu");
    unsigned value = 0;
    return in >> value ? std::optional(value) : std::nullopt;
}

std::optional<LocalLink> link_of(const Address& local) {
    const auto interfaces = list_interfaces();
    if (!interfaces) return std::nullopt;
    const auto same = [&](const Address& one) { return one.family == local.family && one.ip == local.ip; };
    for (const Interface& one : *interfaces) {
        if (std::none_of(one.addresses.begin(), one.addresses.end(), same)) continue;
        const auto mtu = mtu_of(one.name);
        return mtu ? std::optional(LocalLink{one.name, *mtu}) : std::nullopt;
    }
    return std::nullopt;
}

}  // namespace udtx::apps
