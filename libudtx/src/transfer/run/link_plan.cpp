#include "transfer/run/link_plan.hpp"

#include <algorithm>

#include "io/lanes.hpp"
#include "io/path_plan.hpp"
#include "transfer/pieces/piece_map.hpp"

namespace udtx::transfer {

static_assert(kMaxThreads == io::kMaxThreads);

Result<std::vector<proto::PathAddresses>> plan_ways(const std::string& host, std::uint16_t port,
                                                    const DialOptions& dial) {
    const auto addresses = io::peer_addresses(host, port, dial.choice, dial.addresses);
    if (!addresses) return addresses.error();
    auto ways = io::plan_ways(dial.paths, *addresses, dial.choice, dial.skip_absent_paths);
    if (!ways || !dial.paths.empty()) return ways;
    for (const Address& address : dial.also) ways->push_back({.local = {}, .remote = address, .options = {}});
    return ways;
}

TransportConfig transport_config(const LinkOptions& link) {
    TransportConfig config = link.transport;
    for (std::uint64_t* window : {&config.stream_window, &config.connection_window}) {
        *window = std::max(*window, 2 * kPieceBytes);
    }
    return config;
}

io::Driver::Options driver_options(const LinkOptions& link) {
    io::Driver::Options options;
    options.threads = link.threads;
    return options;
}

}  // namespace udtx::transfer
