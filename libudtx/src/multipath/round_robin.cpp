#include "multipath/round_robin.hpp"

#include <algorithm>

namespace udtx::multipath {

std::uint64_t RoundRobin::turn_bytes(const PathView& path) {
    if (path.rate.is_infinite()) return path.datagram_bytes;
    const auto burst = static_cast<std::uint64_t>(path.rate.bytes_in(kTurn));
    return std::clamp<std::uint64_t>(burst, path.datagram_bytes, kMaxTurnDatagrams * path.datagram_bytes);
}

std::optional<PathPick> RoundRobin::pick(Instant /*now*/, const StreamDemand& demand, std::span<const PathView> paths) {
    const Eligible eligible(paths);
    return pick_among(demand, paths, [&eligible](const PathView& path) { return eligible.ready(path); });
}

void RoundRobin::on_sent(Instant /*now*/, const PathPick& pick, std::uint64_t bytes) {
    if (pick.duplicate) return;
    if (pick.path != turn_) {
        turn_ = pick.path;
        used_ = 0;
    }
    used_ += bytes;
}

}  // namespace udtx::multipath
