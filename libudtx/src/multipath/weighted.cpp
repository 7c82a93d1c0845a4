#include "multipath/weighted.hpp"

#include <algorithm>

#include "multipath/eligible.hpp"

namespace udtx::multipath {

std::optional<PathPick> Weighted::pick(Instant /*now*/, const StreamDemand& demand, std::span<const PathView> paths) {
    const Eligible eligible(paths);
    const PathView* best = nullptr;
    const PathView* spare = nullptr;  // a path of weight 0
    double least = 0.0;
    for (const PathView& path : paths) {
        if (!eligible.ready(path)) continue;
        if (path.weight <= 0.0) {
            if (spare == nullptr) spare = &path;
            continue;
        }
        Share& share = shares_[path.id];
        share.weight = path.weight;
        const double tag = std::max(share.tag, virtual_time_ - kCatchUp);
        if (best != nullptr && tag >= least) continue;
        best = &path;
        least = tag;
    }
    if (best == nullptr) best = spare;
    if (best == nullptr) return std::nullopt;
    return PathPick{.path = best->id, .from = demand.next};
}

void Weighted::on_sent(Instant /*now*/, const PathPick& pick, std::uint64_t bytes) {
    Share& share = shares_[pick.path];
    share.tag = std::max(share.tag, virtual_time_ - kCatchUp);
    virtual_time_ = std::max(virtual_time_, share.tag);
    share.tag += static_cast<double>(bytes) / share.weight;
}

}  // namespace udtx::multipath
