// The streams of a connection with several paths, watched for bytes that come late: the record of what each path was
// given, the status monitor and the reinjector of each stream, and the budget that all duplicates share.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "multipath/duplicate_budget.hpp"
#include "multipath/path_map.hpp"
#include "multipath/reinjector.hpp"
#include "multipath/status_monitor.hpp"
#include "multipath/transmission_record.hpp"
#include "proto/stream_table.hpp"
#include "recovery/sent_packet.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::proto {

/// Order of calls: on_sent() before the packet is remembered, then on_acked() or on_lost() after the stream table's.
/// next() until it returns nothing, and on_copied() for each.
class StreamWatch {
  public:
    /// The status monitors look so often.
    static constexpr Duration kMonitorInterval = std::chrono::milliseconds(5);

    /// Notes in the packet where its stream bytes stand in the record.
    void on_sent(Instant now, PathId path, Duration smoothed_rtt, recovery::SentPacket& packet);
    void on_acked(const recovery::SentPacket& packet, const StreamTable& streams);
    void on_lost(const recovery::SentPacket& packet);

    struct Copy {
        StreamId stream;
        multipath::Reinjection what;
        std::uint64_t done = 0;  ///< set by the sender: all below is in the packet, or has arrived
    };
    /// next() may have something.
    [[nodiscard]] bool due(Instant now) const;
    /// Bytes to be sent again, and where.
    [[nodiscard]] std::optional<Copy> next(Instant now, const StreamTable& streams, std::span<const PathView> paths);
    void on_copied(Instant now, const Copy& copy);
    /// When next() may have something, should nothing else happen until then.
    [[nodiscard]] std::optional<Instant> wakeup() const;

    [[nodiscard]] bool allows_probe(std::uint64_t bytes) const noexcept { return budget_.allows_probe(bytes); }
    /// Bytes sent again on a path, because they were late on another.
    [[nodiscard]] std::uint64_t reinjected(PathId path) const;
    /// The monitors' (eq. 1), of the stream in which it is largest.
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
    std::vector<std::unique_ptr<Watched>> streams_;  // few: the control stream and what carries the data
    multipath::PathMap<std::uint64_t> reinjected_;
};

}  // namespace udtx::proto
