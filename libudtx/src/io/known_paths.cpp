#include "io/known_paths.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <tuple>

#include "base/thread_safety.hpp"

namespace udtx {
namespace {

using Key = std::tuple<PublicKey, Address, Address>;

Address host_of(Address address) {
    address.port = 0;
    return address;
}

Key key_of(const PublicKey& peer, const Address& local, const Address& remote) {
    return {peer, host_of(local), host_of(remote)};
}

}  // namespace

struct KnownPaths::State {
    struct Kept {
        KnownPath path;
        std::optional<Instant> taken{};
    };
    mutable Mutex mutex;
    std::map<Key, Kept> paths GUARDED_BY(mutex);
};

KnownPaths::KnownPaths() : state_(std::make_unique<State>()) {}
KnownPaths::~KnownPaths() = default;

KnownPaths& KnownPaths::of_process() {
    static KnownPaths paths;
    return paths;
}

void KnownPaths::note(const Entry& entry) {
    if (entry.local.family == Address::Family::none || entry.remote.family == Address::Family::none) return;
    const Lock lock(state_->mutex);
    auto& paths = state_->paths;
    KnownPath& path = paths.try_emplace(key_of(entry.peer, entry.local, entry.remote), entry.path).first->second.path;
    if (path.measured <= entry.path.measured) path = entry.path;
    if (paths.size() <= kMost) return;
    paths.erase(std::ranges::min_element(paths, {}, [](const auto& one) { return one.second.path.measured; }));
}

std::optional<KnownPath> KnownPaths::take(const PublicKey& peer, const Address& local, const Address& remote,
                                          Instant now) {
    const Lock lock(state_->mutex);
    const auto found = state_->paths.find(key_of(peer, local, remote));
    if (found == state_->paths.end()) return std::nullopt;
    auto& [path, taken] = found->second;
    if (path.capacity.is_zero() || now - path.measured > KnownPath::kLife) return std::nullopt;
    // By then the first connection has either filled its share or given up.
    const Duration apart = std::max<Duration>(std::chrono::seconds(1), 10 * path.base_rtt);
    if (taken && now - *taken < apart) return std::nullopt;
    taken = now;
    return path;
}

std::vector<KnownPaths::Entry> KnownPaths::entries(Instant now) const {
    const Lock lock(state_->mutex);
    std::vector<Entry> all;
    for (const auto& [key, kept] : state_->paths) {
        if (now - kept.path.measured > KnownPath::kLife) continue;
        all.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), kept.path});
    }
    return all;
}

namespace io {
namespace {

std::optional<PublicKey> key_of(const proto::Connection& connection) {
    const auto key = connection.peer_key();
    PublicKey peer;
    if (key.size() != peer.bytes.size()) return std::nullopt;
    std::ranges::copy(key, peer.bytes.begin());
    return peer;
}

}  // namespace

void recall_path(KnownPaths& from, proto::Connection& connection, PathId id, Instant now) {
    const auto peer = key_of(connection);
    if (!peer) return;
    for (const PathStats& path : connection.stats().paths) {
        if (path.id != id || path.state != PathState::active) continue;
        if (const auto known = from.take(*peer, path.local, path.remote, now)) connection.recall(path.id, *known);
    }
}

void note_paths(KnownPaths& to, const proto::Connection& connection) {
    const auto peer = key_of(connection);
    if (!peer) return;
    for (const PathStats& path : connection.stats().paths) {
        if (path.known) to.note({.peer = *peer, .local = path.local, .remote = path.remote, .path = *path.known});
    }
}

}  // namespace io
}  // namespace udtx
