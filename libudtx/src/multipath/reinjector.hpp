// Which bytes on their way on one path are to be sent again on another, because they hold the receiver up (head of
// line) or the end of a transfer (tail). The slow path is not throttled by this: its packets are its probes.
// docs/lab/controllers.md has the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "multipath/duplicate_budget.hpp"
#include "multipath/forecast.hpp"
#include "multipath/transmission_record.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

struct Reinjection {
    RecordRef entry;
    Range range;
    PathId path;  ///< to send on
};

/// Order of calls: next() until it returns nothing; on_sent() for each copy that left.
class Reinjector {
  public:
    static constexpr std::size_t kOldest = 256;    ///< entries of a path that are looked at
    static constexpr std::uint8_t kMaxCopies = 2;  ///< of an entry
    static constexpr std::uint64_t kHeadPackets = 64;
    /// Late: not acknowledged after kLateRtts base RTTs, nor after the smoothed RTT (what a queue that stands delays is
    /// not late), and kLateTime, beyond the time that a receiver may sit on an acknowledgement.
    static constexpr double kLateRtts = 1.25;
    static constexpr Duration kLateTime = std::chrono::milliseconds(2);
    static constexpr Duration kAckDelay = kSynInterval;
    /// Not yet late, but on a bloated path, which will take so many times as long as a copy.
    static constexpr double kMuchLater = 2.0;
    /// After a fruitless look.
    static constexpr Duration kPause = std::chrono::milliseconds(1);

    explicit Reinjector(DuplicateBudget& budget) : budget_(&budget) {}

    /// `culprit`: of the status monitor.
    [[nodiscard]] std::optional<Reinjection> next(Instant now, const StreamDemand& demand,
                                                  const TransmissionRecord& record, std::optional<PathId> culprit,
                                                  std::span<const PathView> paths);
    /// It left, up to `end`.
    void on_sent(const Reinjection& copy, std::uint64_t end);

    /// next() has nothing before.
    [[nodiscard]] Instant not_before() const noexcept { return not_before_; }
    /// When next() may have something, should nothing else happen until then.
    [[nodiscard]] std::optional<Instant> wakeup() const noexcept { return wakeup_; }

  private:
    struct Case;
    [[nodiscard]] const PathView* target(const Case& c, PathId owner, std::span<const PathView> paths) const;
    [[nodiscard]] std::optional<Reinjection> look(Case& c, const PathView& owner, const TransmissionRecord& record,
                                                  std::span<const PathView> paths) const;

    DuplicateBudget* budget_;
    std::optional<Instant> wakeup_;
    Instant not_before_{};
};

}  // namespace udtx::multipath
