#include "udtx-send/paths.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace udtx::apps {
namespace {

constexpr std::string_view kWeight = "weight=";

Error usage(const std::string& text, const std::string& why) {
    return {ErrorCode::invalid_argument, "--path " + text + ": " + why};
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    while (true) {
        const std::size_t comma = text.find(',', at);
        parts.push_back(text.substr(at, comma - at));
        if (comma == std::string::npos) return parts;
        at = comma + 1;
    }
}

std::optional<double> parse_weight(std::string_view text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return std::isfinite(value) && value > 0.0 && value <= 1e6 ? std::optional(value) : std::nullopt;
}

bool same_host(const Address& a, const Address& b) { return a.family == b.family && a.ip == b.ip; }

std::string names_of(const std::vector<io::Interface>& interfaces) {
    std::string names;
    for (const io::Interface& interface : interfaces) names += (names.empty() ? "" : ", ") + interface.name;
    return names;
}

/// An address that is written out; names are not asked for.
std::optional<Address> literal(const std::string& text) {
    const bool v6 = text.find(':') != std::string::npos;
    const bool v4 = !v6 && text.find_first_not_of("0123456789.") == std::string::npos;
    if (!v4 && !v6) return std::nullopt;
    const auto found = io::resolve(text, 0, v6 ? io::AddressChoice::v6_only : io::AddressChoice::v4_only);
    return found ? std::optional(found->front()) : std::nullopt;
}

struct Source {
    std::vector<Address> addresses;
    std::uint32_t interface_index = 0;
};

Result<Source> source_of(const std::string& text, const std::vector<io::Interface>& interfaces) {
    const auto has_name = [&](const io::Interface& i) { return i.name == text; };
    if (const auto found = std::find_if(interfaces.begin(), interfaces.end(), has_name); found != interfaces.end()) {
        if (found->addresses.empty()) return usage(text, "the interface has no address");
        return Source{found->addresses, found->index};
    }
    const auto address = literal(text);
    if (!address) {
        return usage(
            text, "there is no interface of that name, and it is no address; interfaces here: " + names_of(interfaces));
    }
    // All of 127.0.0.0/8 is this host.
    if (address->family == Address::Family::v4 && address->ip[0] == 127) return Source{{*address}, 0};
    for (const io::Interface& interface : interfaces) {
        const auto ours = [&](const Address& a) { return same_host(a, *address); };
        if (std::any_of(interface.addresses.begin(), interface.addresses.end(), ours)) {
            return Source{{*address}, 0};  // the routes, by source perhaps, are the administrator's
        }
    }
    return usage(text, "no interface of this host has that address; interfaces here: " + names_of(interfaces));
}

}  // namespace

Result<PathText> parse_path(const std::string& text) {
    PathText path;
    const auto parts = split(text);
    path.local = parts.front();
    if (path.local.empty()) return usage(text, "an address or the name of an interface comes first");
    bool weight_seen = false;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (parts[i].rfind(kWeight, 0) == 0 && !weight_seen) {
            const auto weight = parse_weight(std::string_view(parts[i]).substr(kWeight.size()));
            if (!weight) return usage(text, "the weight must be a number above 0");
            path.weight = *weight;
            weight_seen = true;
        } else if (i == 1 && !parts[i].empty()) {
            path.remote = parts[i];
        } else {
            return usage(text, "'" + parts[i] + "' is not understood; it is LOCAL[,REMOTE][,weight=N]");
        }
    }
    return path;
}

Result<proto::PathAddresses> plan_path(const PathText& path, const std::vector<io::Interface>& interfaces,
                                       const std::vector<Address>& remotes, io::AddressChoice choice) {
    const auto source = source_of(path.local, interfaces);
    if (!source) return source.error();
    std::vector<Address> targets = remotes;
    if (!path.remote.empty()) {
        auto found = io::resolve(path.remote, remotes.front().port, choice);
        if (!found) return usage(path.local + "," + path.remote, found.error().message);
        targets = std::move(*found);
    }
    for (const Address& target : targets) {
        for (const Address& local : source->addresses) {
            if (local.family != target.family) continue;
            return proto::PathAddresses{
                local, target, {.weight = path.weight, .interface_index = source->interface_index}};
        }
    }
    return usage(path.local, "the receiver has no address of its family (IPv4 or IPv6): name one as --path " +
                                 path.local + ",ADDRESS");
}

}  // namespace udtx::apps
