// Links only udtx::core, as a simulator or a congestion-control experiment does.
#include <cstdio>
#include <string>

#include "udtx/address.hpp"
#include "udtx/congestion.hpp"
#include "udtx/version.hpp"

int main() {
    udtx::Address address;
    address.family = udtx::Address::Family::v4;
    address.ip = {192, 0, 2, 1};
    address.port = 7000;
    const auto controller = udtx::make_congestion_controller("udt", {});
    if (!controller.ok() || udtx::to_string(address) != "192.0.2.1:7000") return 1;
    const std::string numbers = std::to_string(UDTX_VERSION_MAJOR) + "." + std::to_string(UDTX_VERSION_MINOR) + "." +
                                std::to_string(UDTX_VERSION_PATCH);
    if (numbers != UDTX_VERSION_STRING || numbers != udtx::library_version() || udtx::wire_versions().empty()) return 1;
    std::printf("%s, window %llu\n", udtx::to_string(address).c_str(),
                static_cast<unsigned long long>((*controller)->window()));
    return 0;
}
