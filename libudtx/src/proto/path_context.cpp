#include "proto/path_context.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace udtx::proto {

PathContext& PathSet::add(std::unique_ptr<PathContext> path) {
    assert(!was_used(path->id));
    used_.set(path->id.value);
    return *open_.emplace_back(std::move(path));
}

void PathSet::close(PathId id, PathStats figures) {
    assert(!single());
    closed_.push_back(std::move(figures));
    std::erase_if(open_, [id](const auto& path) { return path->id == id; });
}

std::optional<PathId> PathSet::unused_id() const noexcept {
    for (unsigned id = 0; id < used_.size(); ++id) {
        if (!used_[id]) return PathId{static_cast<std::uint8_t>(id)};
    }
    return std::nullopt;
}

bool PathSet::works(const PathContext& path) noexcept {
    return path.state == PathState::active && path.recovery.probe_count() < kSilentProbes && !path.peer_suspended;
}

bool PathSet::silent(const PathContext& path, Instant now) noexcept {
    return path.recovery.probe_count() >= kSilentProbes && now - path.last_received >= kLeastSilence;
}

bool PathSet::another_works(const PathContext& path) const noexcept {
    return std::any_of(open_.begin(), open_.end(), [&](const auto& p) { return p.get() != &path && works(*p); });
}

PathContext& PathSet::best() noexcept {
    const auto rank = [](const PathContext& p) {
        return std::tuple(p.state != PathState::active, !works(p), p.options.standby, p.recovery.rtt().smoothed());
    };
    return **std::min_element(open_.begin(), open_.end(),
                              [&](const auto& a, const auto& b) { return rank(*a) < rank(*b); });
}

}  // namespace udtx::proto
