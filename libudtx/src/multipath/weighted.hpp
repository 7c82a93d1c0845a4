// Bytes in proportion to the paths' weights, as long as the paths take them (start-time fair queueing, Goyal et al.
// 1996): a path that cannot send leaves its share to the others. So weights matter where the data or a cap on the rate
// are scarce; with data enough every path is full. A path of weight 0 is used only when no other may send.
#pragma once

#include "multipath/path_map.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

class Weighted final : public PathScheduler {
  public:
    /// What a path missed because of its pacer or window is made up for within so many bytes, times its weight.
    static constexpr double kCatchUp = 65536.0;

    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) override;
    [[nodiscard]] bool blocked(PathId /*path*/) const override { return false; }

  private:
    struct Share {
        double weight = 1.0;
        double tag = 0.0;  // bytes over weight, the path's virtual time
    };
    PathMap<Share> shares_;
    double virtual_time_ = 0.0;  // tag of the path served last
};

}  // namespace udtx::multipath
