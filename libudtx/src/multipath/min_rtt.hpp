// The path of the lowest smoothed RTT that may send: MPTCP's default scheduler.
#pragma once

#include "multipath/scheduler.hpp"

namespace udtx::multipath {

class MinRtt final : public PathScheduler {
  public:
    [[nodiscard]] std::optional<Pick> pick(Instant now, const Demand& demand, std::span<const PathView> paths) override;
    void on_sent(Instant /*now*/, const Pick& /*pick*/, std::uint64_t /*bytes*/) override {}
    [[nodiscard]] bool blocked(PathId /*path*/) const override { return false; }
};

}  // namespace udtx::multipath
