// Picks the path of lowest smoothed RTT that may send, like MPTCP's default scheduler.
#pragma once

#include "udtx/scheduler.hpp"

namespace udtx::multipath {

class MinRtt final : public PathScheduler {
  public:
    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant /*now*/, const PathPick& /*pick*/, std::uint64_t /*bytes*/) override {}
    [[nodiscard]] bool blocked(PathId /*path*/) const override { return false; }
};

}  // namespace udtx::multipath
