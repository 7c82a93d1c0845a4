#include "transfer/run/link_plan.hpp"

#include <algorithm>
#include <utility>

#include "io/lanes.hpp"
#include "io/path_plan.hpp"
#include "udtx/interfaces.hpp"

namespace udtx::transfer {

static_assert(kMaxThreads == io::kMaxThreads);

Result<std::vector<proto::PathAddresses>> plan_ways(const std::string& host, std::uint16_t port,
                                                    const DialOptions& dial) {
    std::vector<Address> addresses = dial.addresses;
    if (addresses.empty()) {
        auto found = resolve(host, port, dial.choice);
        if (!found) return found.error();
        addresses = std::move(*found);
    }
    for (const Address& address : addresses) {
        if (const auto good = io::check_port(address.port); !good) return good.error();
    }
    std::vector<proto::PathAddresses> ways;
    if (dial.paths.empty()) {
        for (const Address& address : addresses) ways.push_back({.local = {}, .remote = address, .options = {}});
        return ways;
    }
    const auto interfaces = list_interfaces();
    if (!interfaces) return interfaces.error();
    std::string absent;
    for (const PathRequest& path : dial.paths) {
        auto way = io::plan_path(path, *interfaces, addresses, dial.choice);
        if (way) {
            ways.push_back(std::move(*way));
            continue;
        }
        if (!dial.skip_absent_paths) return way.error();
        absent = way.error().message;
    }
    const auto is_standby = [](const proto::PathAddresses& way) { return way.options.standby; };
    if (std::ranges::all_of(ways, is_standby) && !ways.empty()) ways.front().options.standby = false;
    if (ways.empty()) return Error{ErrorCode::network, std::move(absent)};
    return ways;
}

io::Driver::Options driver_options(const LinkOptions& link) {
    io::Driver::Options options;
    options.threads = link.threads;
    return options;
}

Result<void> open_to_listen(io::Driver& driver, const std::string& listen, AddressChoice choice, UniqueFd socket) {
    if (socket) return driver.open(std::move(socket));
    const auto where = parse_host_port(listen);
    if (!where) return where.error();
    const auto addresses = resolve(where->host, where->port, choice);
    if (!addresses) return addresses.error();
    Result<void> opened;
    for (const Address& address : *addresses) {
        opened = driver.open(address);
        if (opened) break;
    }
    return opened;
}

}  // namespace udtx::transfer
