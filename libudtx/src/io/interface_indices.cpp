#include "io/interface_indices.hpp"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <utility>

namespace udtx::io {

InterfaceIndices::Known& InterfaceIndices::find(std::uint32_t first) {
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.first == first; });
    if (found != known_.end()) return *found;
    std::array<char, IF_NAMESIZE> name{};
    Known known{.first = first, .current = first, .name = {}};
    if (::if_indextoname(first, name.data()) != nullptr) known.name = name.data();
    return known_.emplace_back(std::move(known));
}

std::uint32_t InterfaceIndices::current(std::uint32_t first) { return first == 0 ? 0 : find(first).current; }

bool InterfaceIndices::renew(std::uint32_t first) {
    if (first == 0) return false;
    Known& known = find(first);
    const std::uint32_t now = ::if_nametoindex(known.name.c_str());
    if (now == 0 || now == known.current) return false;
    known.current = now;
    return true;
}

}  // namespace udtx::io
