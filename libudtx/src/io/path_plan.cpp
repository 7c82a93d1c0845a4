#include "io/path_plan.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "io/socket_setup.hpp"

namespace udtx::io {
namespace {

Error wrong(const std::string& text, const std::string& why) {
    return {ErrorCode::invalid_argument, text + ": " + why};
}

bool same_host(const Address& a, const Address& b) { return a.family == b.family && a.ip == b.ip; }

std::string names_of(const std::vector<Interface>& interfaces) {
    std::string names;
    for (const Interface& interface : interfaces) names += (names.empty() ? "" : ", ") + interface.name;
    return names;
}

/// Parses a literal address. It does not resolve names.
std::optional<Address> literal(const std::string& text) {
    const bool v6 = text.find(':') != std::string::npos;
    const bool v4 = !v6 && text.find_first_not_of("0123456789.") == std::string::npos;
    if (!v4 && !v6) return std::nullopt;
    const auto found = resolve(text, 0, v6 ? AddressChoice::v6_only : AddressChoice::v4_only);
    return found ? std::optional(found->front()) : std::nullopt;
}

struct Source {
    std::vector<Address> addresses;
    std::uint32_t interface_index = 0;
};

Result<Source> source_of(const std::string& text, const std::vector<Interface>& interfaces) {
    const auto has_name = [&](const Interface& i) { return i.name == text; };
    if (const auto found = std::find_if(interfaces.begin(), interfaces.end(), has_name); found != interfaces.end()) {
        if (found->addresses.empty()) return wrong(text, "the interface has no address");
        return Source{found->addresses, found->index};
    }
    const auto address = literal(text);
    if (!address) {
        return wrong(text,
                     "neither an interface of this host nor an address; interfaces here: " + names_of(interfaces));
    }
    // All of 127.0.0.0/8 is this host.
    if (address->family == Address::Family::v4 && address->ip[0] == 127) return Source{{*address}, 0};
    for (const Interface& interface : interfaces) {
        const auto ours = [&](const Address& a) { return same_host(a, *address); };
        if (std::any_of(interface.addresses.begin(), interface.addresses.end(), ours)) {
            return Source{{*address}, 0};  // the administrator sets the routes, perhaps by source address
        }
    }
    return wrong(text, "no interface of this host has this address; interfaces here: " + names_of(interfaces));
}

std::string hint(const std::string& remote, AddressChoice choice) {
    if (std::count(remote.begin(), remote.end(), ':') == 1) return "; leave the port out, the port of the URL applies";
    if (choice == AddressChoice::v4_only) return "; only IPv4 addresses are allowed";
    if (choice == AddressChoice::v6_only) return "; only IPv6 addresses are allowed";
    return {};
}

}  // namespace

Result<void> check_port(std::uint16_t remote) {
    if (remote != 0) return {};
    return Error{ErrorCode::invalid_argument,
                 "port 0 cannot be a destination: name the port on which the peer listens"};
}

Result<proto::PathAddresses> plan_path(const PathRequest& path, const std::vector<Interface>& interfaces,
                                       const std::vector<Address>& remotes, AddressChoice choice) {
    if (!std::isfinite(path.weight) || path.weight <= 0.0 || path.weight > kMaxPathWeight) {
        return wrong(path.local, "the weight must be a number above 0");
    }
    std::vector<Address> targets = remotes;
    if (!path.remote.empty()) {
        auto found = resolve(path.remote, remotes.front().port, choice);
        if (!found) return wrong(path.local + "," + path.remote, found.error().message + hint(path.remote, choice));
        targets = std::move(*found);
    }
    proto::PathOptions options{.standby = path.standby, .weight = path.weight};
    if (path.local.empty()) return proto::PathAddresses{{}, targets.front(), options};
    const auto source = source_of(path.local, interfaces);
    if (!source) return source.error();
    options.interface_index = source->interface_index;
    for (const Address& target : targets) {
        for (const Address& local : source->addresses) {
            if (local.family == target.family) return proto::PathAddresses{local, target, options};
        }
    }
    if (!path.remote.empty()) {
        return wrong(path.local + "," + path.remote, "one end is IPv4 and the other is IPv6");
    }
    return wrong(path.local,
                 "the receiver has no address of its family (IPv4 or IPv6): name one as " + path.local + ",ADDRESS");
}

Result<std::vector<Address>> peer_addresses(const std::string& host, std::uint16_t port, AddressChoice choice,
                                            std::vector<Address> given) {
    if (given.empty()) {
        auto found = resolve(host.empty() ? "localhost" : host, port, choice);
        if (!found) return found;
        given = std::move(*found);
    }
    for (const Address& address : given) {
        if (const auto good = check_port(address.port); !good) return good.error();
    }
    return given;
}

Result<std::vector<proto::PathAddresses>> plan_paths(const std::vector<PathRequest>& paths,
                                                     const std::vector<Address>& remotes, AddressChoice choice,
                                                     bool skip_absent) {
    std::vector<proto::PathAddresses> candidates;
    if (paths.empty()) {
        for (const Address& remote : remotes) candidates.push_back({.local = {}, .remote = remote, .options = {}});
        return candidates;
    }
    const auto interfaces = list_interfaces();
    if (!interfaces) return interfaces.error();
    std::string absent;
    for (const PathRequest& path : paths) {
        auto candidate = plan_path(path, *interfaces, remotes, choice);
        if (candidate) {
            candidates.push_back(std::move(*candidate));
            continue;
        }
        if (!skip_absent) return candidate.error();
        absent = candidate.error().message;
    }
    if (candidates.empty()) return Error{ErrorCode::network, std::move(absent)};
    const auto is_standby = [](const proto::PathAddresses& candidate) { return candidate.options.standby; };
    if (std::all_of(candidates.begin(), candidates.end(), is_standby)) candidates.front().options.standby = false;
    return candidates;
}

Result<void> open_socket_for(Driver& driver, std::vector<proto::PathAddresses>& candidates, int socket) {
    const Address last = candidates.back().remote;
    const auto leads_nowhere = [](const proto::PathAddresses& candidate) {
        return lacks_zone(candidate.remote) && candidate.options.interface_index == 0 && candidate.local.scope == 0;
    };
    std::erase_if(candidates, leads_nowhere);
    if (candidates.empty()) return Error{ErrorCode::no_route, describe_no_route(last, EINVAL)};
    const auto is_v6 = [](const proto::PathAddresses& candidate) {
        return candidate.remote.family == Address::Family::v6;
    };
    if (socket >= 0) {
        if (const auto opened = driver.open(UniqueFd(::fcntl(socket, F_DUPFD_CLOEXEC, 0))); !opened) return opened;
        const auto local = driver.local_address();
        if (!local) return local.error();
        if (local->family == Address::Family::v4) std::erase_if(candidates, is_v6);
        return candidates.empty() ? Error{ErrorCode::no_route, describe_no_route(last, EAFNOSUPPORT)} : Result<void>();
    }
    Address any;
    any.family = Address::Family::v6;
    if (std::any_of(candidates.begin(), candidates.end(), is_v6)) {
        auto opened = driver.open(any);
        // Hosts without IPv6 resolve names to IPv6 addresses too.
        if (opened || std::all_of(candidates.begin(), candidates.end(), is_v6)) return opened;
        std::erase_if(candidates, is_v6);
    }
    any.family = Address::Family::v4;
    return driver.open(any);
}

std::vector<proto::PathAddresses> other_paths(const PathStats& first, std::vector<proto::PathAddresses> candidates) {
    const auto used = std::find_if(candidates.begin(), candidates.end(), [&](const proto::PathAddresses& candidate) {
        return candidate.matches(first.local, first.remote);
    });
    if (used != candidates.end()) candidates.erase(used);
    return candidates;
}

}  // namespace udtx::io

namespace udtx {

Result<void> check_paths(const std::vector<PathRequest>& paths, const std::vector<Address>& peer,
                         AddressChoice choice) {
    const auto interfaces = list_interfaces();
    if (!interfaces) return interfaces.error();
    for (const PathRequest& path : paths) {
        if (const auto candidate = io::plan_path(path, *interfaces, peer, choice); !candidate) return candidate.error();
    }
    return {};
}

}  // namespace udtx
