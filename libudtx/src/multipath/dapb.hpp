// Delay-alerted path blocking (DAPB): round robin that blocks a path whose smoothed RTT has risen far above the
// others'. A blocked path carries one duplicate packet per round trip. That keeps measuring the path and takes no room
// in the receiver's buffer. docs/lab/controllers.md lists the deviation from the paper.
#pragma once

#include "multipath/path_map.hpp"
#include "multipath/round_robin.hpp"

namespace udtx::multipath {

class Dapb final : public PathScheduler {
  public:
    /// thresh = max(kFactor x min sRTT, kInitial). A path is released at kRelease x thresh.
    static constexpr int kFactor = 3;
    static constexpr Duration kInitial = std::chrono::milliseconds(50);
    static constexpr double kRelease = 0.5;
    /// A path whose own base RTT is above that could never be released. Therefore an sRTT of kOwnBase times its base
    /// RTT also releases it, if this is well below the threshold (kHysteresis).
    static constexpr double kOwnBase = 1.25;
    static constexpr double kHysteresis = 0.9;

    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) override;
    [[nodiscard]] bool blocked(PathId path) const override;

  private:
    struct State {
        bool blocked = false;
        bool fresh = false;  // another path got bytes since the last duplicate
    };
    void judge(std::span<const PathView> paths);

    RoundRobin rotation_;
    PathMap<State> states_;
};

}  // namespace udtx::multipath
