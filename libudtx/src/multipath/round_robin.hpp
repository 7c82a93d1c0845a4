// Each path that may send gets its turn. This is the baseline of the papers; it fills every path's window.
#pragma once

#include "multipath/eligible.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

class RoundRobin final : public PathScheduler {
  public:
    /// A turn is as long as a burst of the pacer, so that fast paths keep their batches. It has at least one datagram.
    static constexpr Duration kTurn = std::chrono::microseconds(250);
    static constexpr std::uint32_t kMaxTurnDatagrams = 16;

    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) override;
    [[nodiscard]] bool blocked(PathId /*path*/) const override { return false; }

    /// As pick(), but only among the paths for which `may` returns true.
    template <class Predicate>
    [[nodiscard]] std::optional<PathPick> pick_among(const StreamDemand& demand, std::span<const PathView> paths,
                                                     const Predicate& may) const {
        const PathView* best = nullptr;
        for (const PathView& path : paths) {
            if (!may(path)) continue;
            if (path.id == turn_ && used_ < turn_bytes(path)) return PathPick{.path = path.id, .from = demand.next};
            if (best == nullptr || distance(path.id) < distance(best->id)) best = &path;
        }
        if (best == nullptr) return std::nullopt;
        return PathPick{.path = best->id, .from = demand.next};
    }

  private:
    [[nodiscard]] static std::uint64_t turn_bytes(const PathView& path);
    /// Cyclic distance, in ascending ids, from the path whose turn it is. That path itself comes last.
    [[nodiscard]] std::uint8_t distance(PathId id) const noexcept {
        return static_cast<std::uint8_t>(id.value - turn_.value - 1);
    }

    PathId turn_{255};
    std::uint64_t used_ = 0;  // bytes sent in the present turn
};

}  // namespace udtx::multipath
