// Watches the streams of a connection with several paths for late bytes. Each stream has a record of the bytes of each
// path, a status monitor and a reinjector. All duplicates share one budget.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "multipath/path_view.hpp"
#include "multipath/reinjector.hpp"
#include "multipath/transmission_record.hpp"
#include "proto/stream_table.hpp"
#include "recovery/loss_recovery.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::proto {

/// Order of calls: on_sent() before the packet is remembered, then on_acked() or on_lost() after those of the stream
/// table. next() until it returns nullopt, and on_copied() for each result.
class StreamWatch {
  public:
    /// Interval between updates of a status monitor.
    static constexpr Duration kMonitorInterval = std::chrono::milliseconds(5);

    /// Notes in the packet which entries of the record its stream bytes have.
    void on_sent(Instant now, PathId path, Duration smoothed_rtt, recovery::SentPacket& packet);
    void on_acked(const recovery::SentPacket& packet, const StreamTable& streams);
    void on_lost(const recovery::SentPacket& packet);

    struct Copy {
        StreamId stream;
        multipath::Reinjection what;
        std::uint64_t done = 0;  ///< set by the sender: all bytes below are in the packet or have arrived
    };
    /// next() may return something.
    [[nodiscard]] bool due(Instant now) const;
    /// Bytes to send again, and the path for them.
    [[nodiscard]] std::optional<Copy> next(Instant now, const StreamTable& streams, std::span<const PathView> paths);
    void on_copied(Instant now, const Copy& copy);
    /// When next() may return something, if nothing else happens until then.
    [[nodiscard]] std::optional<Instant> wakeup() const;

    [[nodiscard]] bool allows_probe(std::uint64_t bytes) const noexcept { return budget_.allows_probe(bytes); }
    /// Bytes that were sent again on a path because they were late on another.
    [[nodiscard]] std::uint64_t reinjected(PathId path) const;
    /// TransmitTimes of a path (eq. 1), as the largest value of the streams' monitors.
    [[nodiscard]] double transmit_times(PathId path) const;

  private:
    struct Watched {
        Watched(StreamId stream, multipath::DuplicateBudget& budget)
            : id(stream), record(stream.kind()), reinjector(budget) {}
        StreamId id;
        multipath::TransmissionRecord record;
        multipath::StatusMonitor monitor;
        multipath::Reinjector reinjector;
        Instant monitored{};
    };
    [[nodiscard]] Watched* find(StreamId id);

    multipath::DuplicateBudget budget_;
    std::vector<std::unique_ptr<Watched>> streams_;  // few: the control stream and those that carry data
    multipath::PathMap<std::uint64_t> reinjected_;
};

}  // namespace udtx::proto
