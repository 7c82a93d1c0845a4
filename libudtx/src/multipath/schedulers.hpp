// The schedulers: each chooses the path of the next datagram.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "multipath/path_view.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

// Each path that may send gets its turn. This is the baseline of the papers; it fills every path's window.

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

// Delay-alerted path blocking (DAPB): round robin that blocks a path whose smoothed RTT has risen far above the
// others'. A blocked path carries one duplicate packet per round trip. That keeps measuring the path and takes no room
// in the receiver's buffer. docs/lab/controllers.md lists the deviation from the paper.

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

// Picks the path of lowest smoothed RTT that may send, like MPTCP's default scheduler.

class MinRtt final : public PathScheduler {
  public:
    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant /*now*/, const PathPick& /*pick*/, std::uint64_t /*bytes*/) override {}
    [[nodiscard]] bool blocked(PathId /*path*/) const override { return false; }
};

// Divides bytes in proportion to the paths' weights (start-time fair queueing, Goyal et al. 1996). A path that cannot
// send leaves its share to the others. So weights matter only if data or a rate cap is scarce; with enough data every
// path is full. A path of weight 0 is used only when no other may send.

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

// Earliest delivery with a sliding gap, the default: each datagram takes the path on which it arrives first.
//
// In ordered streams, a slower path gets bytes further ahead. The faster paths fill the gap before these bytes arrive,
// so nothing waits for them. The slower path gets no bytes that the receiver could not hold by then. Unordered streams
// need no order: a path is left out only if the rest of the file would arrive earlier without it.
// docs/inside/multipath.md has the equations, docs/lab/controllers.md the deviations from the proposal.

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

// Wraps a scheduler of the program. Errors name it: exceptions that it throws, and answers that cannot be followed.

class OwnScheduler final : public PathScheduler {
  public:
    explicit OwnScheduler(std::unique_ptr<PathScheduler> inner) : inner_(std::move(inner)) {}
    [[nodiscard]] std::optional<PathPick> pick(Instant now, const StreamDemand& demand,
                                               std::span<const PathView> paths) override;
    void on_sent(Instant now, const PathPick& pick, std::uint64_t bytes) override;
    [[nodiscard]] bool blocked(PathId path) const override;

  private:
    std::unique_ptr<PathScheduler> inner_;
};

// Makes the scheduler of a connection: a built-in one or the application's own.

/// Uses `own`, or if that is empty, makes the one called `name`. invalid_argument: unknown name, or `own` made none.
[[nodiscard]] Result<std::unique_ptr<PathScheduler>> make_scheduler(std::string_view name, const SchedulerFactory& own);

}  // namespace udtx::multipath
