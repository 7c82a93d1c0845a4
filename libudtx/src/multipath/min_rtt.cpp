#include "multipath/min_rtt.hpp"

#include "multipath/eligible.hpp"

namespace udtx::multipath {

// A path without a sample counts as the fastest, because it has to be used to be measured.
std::optional<PathPick> MinRtt::pick(Instant /*now*/, const StreamDemand& demand, std::span<const PathView> paths) {
    const Eligible eligible(paths);
    const PathView* best = nullptr;
    for (const PathView& path : paths) {
        if (eligible.ready(path) && (best == nullptr || path.smoothed_rtt < best->smoothed_rtt)) best = &path;
    }
    if (best == nullptr) return std::nullopt;
    return PathPick{.path = best->id, .from = demand.next};
}

}  // namespace udtx::multipath
