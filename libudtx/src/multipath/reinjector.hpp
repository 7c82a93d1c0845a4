// Bytes that are late on one path are sent again on another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "multipath/path_view.hpp"
#include "multipath/transmission_record.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

// Duplicates cost at most 5 % of the bytes: one share for copies of late bytes, a smaller one for probes. Each share is
// a bucket that fills with the bytes sent for the first time.

class DuplicateBudget {
  public:
    static constexpr double kCopies = 0.04;
    static constexpr double kProbes = 0.01;
    /// Most bytes in a bucket. It bounds the duplicates after a long transfer without any.
    static constexpr double kDepth = 16.0 * 1024 * 1024;

    void on_new_bytes(std::uint64_t bytes) noexcept {
        copies_ = std::min(copies_ + kCopies * static_cast<double>(bytes), kDepth);
        probes_ = std::min(probes_ + kProbes * static_cast<double>(bytes), kDepth);
    }
    [[nodiscard]] bool allows_copy(std::uint64_t bytes) const noexcept { return static_cast<double>(bytes) <= copies_; }
    [[nodiscard]] bool allows_probe(std::uint64_t bytes) const noexcept {
        return static_cast<double>(bytes) <= probes_;
    }
    void on_copy(std::uint64_t bytes) noexcept { copies_ -= static_cast<double>(bytes); }
    void on_probe(std::uint64_t bytes) noexcept { probes_ -= static_cast<double>(bytes); }

  private:
    double copies_ = 0.0;
    double probes_ = 0.0;
};

// Chooses bytes in flight on one path to be sent again on another, because they hold up the receiver (head of line) or
// the end of a transfer (tail). This does not throttle the slow path: its packets are its probes.
// docs/inside/multipath.md has the rules.

struct Reinjection {
    RecordRef entry;
    Range range;
    PathId path;  ///< where the copy is to be sent
};

/// Order of calls: next() until it returns nullopt; on_sent() for each copy that was sent.
class Reinjector {
  public:
    static constexpr std::size_t kOldest = 256;    ///< open entries of each list of a path that are examined
    static constexpr std::uint8_t kMaxCopies = 2;  ///< of an entry
    static constexpr std::uint64_t kHeadPackets = 64;
    /// An entry is late if it is not acknowledged after kLateRtts base RTTs and after the smoothed RTT (the delay of a
    /// standing queue is not lateness). kLateTime is added, and kAckDelay, the time that a receiver may hold back an
    /// ACK.
    static constexpr double kLateRtts = 1.25;
    static constexpr Duration kLateTime = std::chrono::milliseconds(2);
    static constexpr Duration kAckDelay = kSynInterval;
    /// On a bloated path, an entry need not be late if its delivery would take this many times as long as a copy.
    static constexpr double kMuchLater = 2.0;
    /// Pause after a search that found nothing.
    static constexpr Duration kPause = std::chrono::milliseconds(1);

    explicit Reinjector(DuplicateBudget& budget) : budget_(&budget) {}

    /// `culprit`: the path that the status monitor reports.
    [[nodiscard]] std::optional<Reinjection> next(Instant now, const StreamDemand& demand,
                                                  const TransmissionRecord& record, std::optional<PathId> culprit,
                                                  std::span<const PathView> paths);
    /// The copy was sent, up to offset `end`.
    void on_sent(const Reinjection& copy, std::uint64_t end);

    /// next() returns nullopt before this time.
    [[nodiscard]] Instant not_before() const noexcept { return not_before_; }
    /// When next() may return something, if nothing else happens until then.
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
