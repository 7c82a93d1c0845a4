#include "io/interface_indices.hpp"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <utility>

namespace udtx::io {

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
