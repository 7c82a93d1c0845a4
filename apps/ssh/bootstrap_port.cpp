#include "ssh/bootstrap_port.hpp"

namespace udtx::apps {

std::vector<std::string> to_arguments(const BootstrapPort& port) {
    std::vector<std::string> words;
    if (port.addresses == AddressChoice::v4_only) words.emplace_back("-4");
    if (port.addresses == AddressChoice::v6_only) words.emplace_back("-6");
    if (port.ports.first != 0) words.insert(words.end(), {"-O", to_string(port.ports)});
    return words;
}

Result<BootstrapPort> parse_bootstrap_port(const std::vector<std::string>& arguments) {
    BootstrapPort port;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if (word == "-4") {
            port.addresses = AddressChoice::v4_only;
        } else if (word == "-6") {
            port.addresses = AddressChoice::v6_only;
        } else if (word == "-O" && i + 1 < arguments.size()) {
            const auto ports = parse_port_range(arguments[++i]);
            if (!ports) return ports.error();
            port.ports = *ports;
        } else {
            return Error{ErrorCode::protocol, "'" + word + "' is unknown after --bootstrap"};
        }
    }
    return port;
}

}  // namespace udtx::apps
