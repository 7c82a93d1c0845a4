// Divides bytes in proportion to the paths' weights (start-time fair queueing, Goyal et al. 1996). A path that cannot
// send leaves its share to the others. So weights matter only if data or a rate cap is scarce; with enough data every
// path is full. A path of weight 0 is used only when no other may send.
#pragma once

#include "multipath/path_map.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

class Weighted final : public PathScheduler {
  public:
    /// A path that its pacer or window has delayed may catch up at most this many bytes, times its weight.
    static constexpr double kCatchUp = 65536.0;

    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) override;
    [[nodiscard]] bool blocked(PathId /*path*/) const override { return false; }

  private:
    struct Share {
        double weight = 1.0;
        double tag = 0.0;  // the path's virtual time: bytes divided by weight
    };
    PathMap<Share> shares_;
    double virtual_time_ = 0.0;  // tag of the path that was served last
};

}  // namespace udtx::multipath
