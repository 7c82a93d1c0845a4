#include "multipath/dapb.hpp"

#include <algorithm>

namespace udtx::multipath {

void Dapb::judge(std::span<const PathView> paths) {
    const Eligible eligible(paths);
    Duration least = Duration::max();
    for (const PathView& path : paths) {
        if (eligible.usable(path) && path.smoothed_rtt > Duration::zero()) least = std::min(least, path.smoothed_rtt);
    }
    if (least == Duration::max()) return;
    const double threshold = to_seconds(std::max(kFactor * least, kInitial));
    for (const PathView& path : paths) {
        State& state = states_[path.id];
        const double rtt = to_seconds(path.smoothed_rtt);
        if (!state.blocked) {
            state.blocked = rtt > threshold;
        } else {
            const double release = std::max(kRelease * threshold, kOwnBase * to_seconds(path.min_rtt));
            state.blocked = rtt >= std::min(release, kHysteresis * threshold);
        }
    }
}

// A blocked path has one packet in flight: the next duplicate leaves when the last was acknowledged or given up.
std::optional<PathPick> Dapb::pick(Instant /*now*/, const StreamDemand& demand, std::span<const PathView> paths) {
    judge(paths);
    const Eligible eligible(paths);
    for (const PathView& path : paths) {
        const State* state = states_.find(path.id);
        if (state != nullptr && state->blocked && state->fresh && path.in_flight == 0 && eligible.ready(path)) {
            return PathPick{.path = path.id, .from = demand.next, .duplicate = true};
        }
    }
    return rotation_.pick_among(demand, paths,
                                [&](const PathView& path) { return eligible.ready(path) && !blocked(path.id); });
}

void Dapb::on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) {
    if (pick.duplicate) {
        states_[pick.path].fresh = false;
        return;
    }
    for (auto& [id, state] : states_) state.fresh = state.fresh || id != pick.path;
    rotation_.on_sent(now, pick, bytes);
}

bool Dapb::blocked(PathId path) const {
    const State* state = states_.find(path);
    return state != nullptr && state->blocked;
}

}  // namespace udtx::multipath
