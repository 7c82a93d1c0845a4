// The UDP port that the remote end of docs/using/ssh.md opens. The command line that ssh runs there contains it, so
// that the port is open before the request arrives.
#pragma once

#include <string>
#include <vector>

#include "common/port_range.hpp"
#include "udtx/resolve.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

struct BootstrapPort {
    PortRange ports;
    AddressChoice addresses = AddressChoice::any;

    friend bool operator==(const BootstrapPort&, const BootstrapPort&) = default;
};

/// The words after "--bootstrap". They need no quotes.
[[nodiscard]] std::vector<std::string> to_arguments(const BootstrapPort& port);
Result<BootstrapPort> parse_bootstrap_port(const std::vector<std::string>& arguments);

}  // namespace udtx::apps
