#include "transfer/serve/client_budget.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/address.hpp"
#include "transfer/file/file_io.hpp"
#include "transfer/names.hpp"
#include "udtx/log.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {
namespace {

/// The lowest limit from the group at `path` up to the root: each group limits those below it.
std::uint64_t least_of(const std::string& root, std::string path, const std::string& file) {
    std::uint64_t least = UINT64_MAX;
    for (;;) {
        std::string name = root;
        name.append(path).append(1, '/').append(file);
        std::uint64_t bytes = 0;
        if (std::ifstream(name) >> bytes) least = std::min(least, bytes);  // "max" is not a number
        if (path.empty()) return least;
        path.erase(std::min(path.rfind('/'), path.size()));
    }
}

/// A client that stays silent this long, several round trips, may have no request. It gives way only if another one
/// needs the place.
constexpr Duration kSilentFor = std::chrono::seconds(1);
/// A transfer in which nothing moved for this long may have lost its peer. It gives way only if another one needs the
/// place.
constexpr Duration kIdleFor = std::chrono::seconds(15);

/// The least number of connections. If the descriptors do not suffice even for these, a client gets an error.
constexpr std::size_t kLeastConnections = 4;

/// Room for the largest single transfer, whose own bounds add up to some 450 MiB (docs/inside/transfer-protocol.md).
constexpr std::uint64_t kLeastHeld = 512ULL << 20U;

bool may_give_way(const ServedState& connection) {
    return !connection.leaves() && connection.idle() >= (connection.is_silent() ? kSilentFor : kIdleFor);
}

/// Makes the longest idle connection of `owner` give way, if one may. `owner` 0: that of the owner with the most
/// connections among those with a connection that may give way.
bool make_way(const ClientBudget::Connections& connections, std::uint64_t owner) {
    std::map<std::uint64_t, std::size_t> owned;
    for (const auto& connection : connections) owned[connection->owner()] += connection->leaves() ? 0 : 1;
    std::tuple<std::size_t, Duration> most;
    ServedState* idlest = nullptr;
    for (const auto& connection : connections) {
        if ((owner != 0 && connection->owner() != owner) || !may_give_way(*connection)) continue;
        const std::tuple rank(owned[connection->owner()], connection->idle());
        if (idlest == nullptr || most < rank) std::tie(most, idlest) = std::tuple(rank, connection.get());
    }
    if (idlest == nullptr) return false;
    idlest->give_way(ErrorCode::timeout,
                     "nothing moved for " + elapsed_text(idlest->idle()) + ", and other clients are waiting");
    return true;
}

}  // namespace

std::uint64_t memory_of_groups(const std::string& table, const std::string& root) {
    std::uint64_t least = UINT64_MAX;
    std::ifstream groups(table);
    // "0::/path" of version 2, "4:cpu,memory:/path" of version 1
    for (std::string line; std::getline(groups, line);) {
        const std::size_t name = line.find(':') + 1;
        const std::size_t path = line.find(':', name) + 1;
        if (name == 0 || path == 0) continue;
        const std::string controllers = ',' + line.substr(name, path - name - 1) + ',';
        const std::string at = line.substr(path);
        if (controllers == ",,") least = std::min(least, least_of(root, at, "memory.max"));
        if (controllers.find(",memory,") != std::string::npos) {
            least = std::min(least, least_of(root + "/memory", at, "memory.limit_in_bytes"));
        }
    }
    return least;
}

std::uint64_t memory_of_process() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGESIZE);
    std::uint64_t bytes =
        pages > 0 && page > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) : 0;
    bytes = std::min(bytes, memory_of_groups());
    for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
        rlimit limit{};
        if (::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            bytes = std::min<std::uint64_t>(bytes, limit.rlim_cur);
        }
    }
    return bytes;
}

std::uint64_t default_window_memory() {
    static const std::uint64_t bytes = std::min(memory_of_process() / 4, kMaxWindowMemory);
    return bytes;
}

ServerLimits default_limits() {
    static const std::uint64_t held = std::max(kLeastHeld, memory_of_process() / 4);
    const std::size_t jobs = jobs_with_descriptors();
    // A connection that gives way keeps its descriptors for a moment.
    return {.connections = std::clamp(jobs - jobs / 8, kLeastConnections, ClientBudget::kConnections),
            .connections_of_one = std::clamp(jobs / 4, kLeastConnections, ClientBudget::kConnectionsOfOne),
            .held_by_one = held};
}

ServerLimits ClientBudget::limits() const {
    ServerLimits all = default_limits();
    if (limits_.connections > 0) all.connections = limits_.connections;
    if (limits_.connections_of_one > 0) all.connections_of_one = limits_.connections_of_one;
    if (limits_.held_by_one > 0) all.held_by_one = limits_.held_by_one;
    return all;
}

std::uint64_t ClientBudget::owner(const Address& remote, std::uint64_t identity) {
    if (identity != 0) return identity;
    const auto host = host_part(remote);
    return path_key({reinterpret_cast<const char*>(host.data()), host.size()}) | 1U;
}

Result<void> ClientBudget::admit(const Connections& connections, std::uint64_t owner) const {
    const ServerLimits limits = this->limits();
    const auto here = [](const auto& connection) { return !connection->leaves(); };
    const auto own = [&](const auto& connection) { return here(connection) && connection->owner() == owner; };
    const auto of_one = static_cast<std::size_t>(std::ranges::count_if(connections, own));
    if (of_one >= limits.connections_of_one && !make_way(connections, owner)) {
        return Error{ErrorCode::no_resources,
                     "this key, or with one pre-shared key this address, has reached its limit of connections (" +
                         std::to_string(limits.connections_of_one) + "); try again later"};
    }
    const auto of_all = static_cast<std::size_t>(std::ranges::count_if(connections, here));
    if (of_all >= limits.connections && !make_way(connections, 0)) {
        return Error{ErrorCode::no_resources, "the server has reached its limit of connections; try again later"};
    }
    return {};
}

void ClientBudget::enforce(const Connections& connections) const {
    const std::uint64_t most = limits().held_by_one;
    struct Held {
        std::uint64_t bytes = 0;
        std::vector<std::pair<std::uint64_t, ServedState*>> of;
    };
    std::map<std::uint64_t, Held> owners;
    for (const auto& connection : connections) {
        if (connection->leaves()) continue;
        Held& held = owners[connection->owner()];
        held.of.emplace_back(connection->held(), connection.get());
        held.bytes += held.of.back().first;
    }
    for (auto& [owner, held] : owners) {
        if (held.bytes <= most) continue;
        std::ranges::sort(held.of, std::ranges::greater());
        // Ends them all at once: one at a time, the excess could grow meanwhile.
        for (const auto& [bytes, connection] : held.of) {
            connection->give_way(ErrorCode::refused,
                                 "the transfers of this key need more memory of the server than one key may have (" +
                                     bytes_text(most) + "): run fewer or smaller ones at the same time");
            held.bytes -= bytes;
            if (held.bytes <= most) break;
        }
    }
}

}  // namespace udtx::transfer
