// Earliest delivery with a sliding gap, the default: each datagram takes the path on which it arrives first.
//
// In ordered streams, a slower path gets bytes further ahead. The faster paths fill the gap before these bytes arrive,
// so nothing waits for them. The slower path gets no bytes that the receiver could not hold by then. Placed streams
// need no order: a path is left out only if the rest of the file would arrive earlier without it.
// docs/inside/multipath.md has the equations, docs/lab/controllers.md the deviations from the proposal.
#pragma once

#include <array>
#include <cstddef>

#include "multipath/forecast.hpp"
#include "multipath/path_map.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

class Eds final : public PathScheduler {
  public:
    /// A path that is left out is measured by one duplicate per round trip of the fastest path, at least this far
    /// apart.
    static constexpr Duration kProbeSpacing = std::chrono::milliseconds(10);

    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) override;
    [[nodiscard]] bool blocked(PathId path) const override;

  private:
    struct Usable {
        const PathView* path = nullptr;
        Forecast forecast;
    };
    struct State {
        Instant last_sent{};
        bool left_out = false;
    };
    using Forecasts = std::span<const Usable>;
    [[nodiscard]] static std::uint64_t ordered_offset(const Usable& one, const StreamDemand& demand, Forecasts all);
    [[nodiscard]] static bool too_late(const Usable& one, const StreamDemand& demand, Forecasts all);
    [[nodiscard]] std::optional<PathPick> probe(Instant now, const StreamDemand& demand, Forecasts all);

    PathMap<State> states_;
};

}  // namespace udtx::multipath
