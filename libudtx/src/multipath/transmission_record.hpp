// The sender's record of a stream over several paths, and the monitor that reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/containers.hpp"
#include "multipath/path_view.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "udtx/scheduler.hpp"

namespace udtx::multipath {

// The sender's record of one stream over several paths: the bytes of each path, in order of assignment (the paper's TSM
// buffer; docs/inside/multipath.md). An entry of an ordered stream stays until the receiver has all bytes before its
// end. An entry of an unordered stream stays until its own bytes have arrived.

/// Names an entry. The packets that carry its bytes store this reference. It is safe to use after the entry is gone.
struct RecordRef {
    PathId path;
    bool again = false;
    std::uint32_t number = 0;  ///< modulo 2^32
    friend constexpr bool operator==(RecordRef, RecordRef) noexcept = default;
};

class TransmissionRecord {
  public:
    static constexpr std::size_t kMaxEntries = 1U << 16U;  ///< of one list of a path; then the oldest is forgotten

    struct Entry {
        Range range;
        Instant assigned;
        Duration rtt_then{};          ///< sRTT of the path when the entry was assigned
        std::uint64_t copy_from = 0;  ///< where the next copy starts
        Instant copied{};             ///< when the last copy was sent
        std::uint8_t copies = 0;      ///< complete copies, sent on other paths while this entry was in flight
        bool open = false;            ///< neither acknowledged nor declared lost
    };

    explicit TransmissionRecord(StreamKind kind) : kind_(kind) {}

    /// Records an assignment. `again`: the bytes were lost before. New and lost bytes have separate lists, which both
    /// ascend.
    RecordRef on_assigned(Instant now, PathId path, Range range, bool again, Duration smoothed_rtt);
    /// A copy of the bytes below `end` was sent.
    void on_copied(Instant now, RecordRef ref, std::uint64_t end);
    /// Range of an open entry; nullopt if the entry is not open.
    [[nodiscard]] std::optional<Range> range_of(RecordRef ref) const;
    /// All bytes of the entry have arrived, in its own packet or in copies.
    void on_acked(RecordRef ref) { close(ref); }
    /// The bytes were lost and will be assigned again.
    void on_lost(RecordRef ref);
    /// Ordered: the receiver has all bytes below `offset`.
    void on_data_acked(std::uint64_t offset);

    /// NoPkt_i: entries of a path that the receiver has not delivered yet.
    [[nodiscard]] std::size_t outstanding(PathId path) const;
    struct Found {
        RecordRef ref;
        Entry entry;
    };
    [[nodiscard]] bool empty() const;
    /// The open entry of lowest offset: the receiver waits for it.
    [[nodiscard]] std::optional<Found> head() const;
    /// Calls fn(ref, entry) for the open entries of `path`: first those of lost bytes, then those of new ones. Each
    /// list starts with the oldest and ends after `most` entries. If fn returns false, it is not called again.
    template <class Fn>
    void for_each_open(PathId path, std::size_t most, Fn&& fn) const {
        const Lists* lists = lists_.find(path);
        if (lists == nullptr) return;
        for (const bool again : {true, false}) {
            const List& list = again ? lists->again : lists->fresh;
            std::size_t seen = 0;
            for (std::uint64_t n = list.first_open; n != list.entries.next() && seen < most; ++n) {
                if (!list.entries[n].open) continue;
                ++seen;
                if (!fn(RecordRef{path, again, static_cast<std::uint32_t>(n)}, list.entries[n])) return;
            }
        }
    }

  private:
    struct List {
        Ring<Entry> entries{};
        std::uint64_t first_open = 0;  // lower entries are not open
    };
    struct Lists {
        List fresh;
        List again;
    };
    [[nodiscard]] List& list_of(RecordRef ref) { return ref.again ? lists_[ref.path].again : lists_[ref.path].fresh; }
    [[nodiscard]] static std::optional<std::uint64_t> number_of(const List& list, RecordRef ref);
    [[nodiscard]] static Entry* find(List& list, RecordRef ref);
    void close(RecordRef ref);
    void trim(List& list);

    StreamKind kind_;
    std::uint64_t data_acked_ = 0;
    PathMap<Lists> lists_;
};

// Transmission-status monitoring (TSM): finds out from the sender's record alone that one path holds up the others.
//
//   TransmitTimes_i = NoPkt_i / MaxCwnd_i        (eq. 1)
//
// NoPkt_i counts the entries of path i that the receiver has not delivered. It also grows on a healthy path, if that
// path's bytes wait behind those of a bloated one. So the value of any path raises the alarm. The culprit is the path
// of the entry that the receiver waits for. docs/lab/controllers.md explains how the paper's ambiguities were resolved.

class StatusMonitor {
  public:
    static constexpr Duration kWindowMemory = std::chrono::seconds(10);  ///< MaxCwnd_i is the maximum of this time
    static constexpr double kMeanTime = 1.0;                             ///< tau of the send buffer's mean, s
    static constexpr double kThreshold = 3.0;                            ///< times the ratio of the base RTTs ...
    static constexpr double kMaxThreshold = 10.0;                        ///< ... up to this

    /// Call it from time to time: on acknowledgements and when packets leave. `send_buffer`: bytes sent that the
    /// receiver has not delivered yet.
    void update(Instant now, std::uint64_t send_buffer, const TransmissionRecord& record,
                std::span<const PathView> paths);

    /// The path that holds up the others; nullopt: there is none.
    [[nodiscard]] std::optional<PathId> culprit() const noexcept { return culprit_; }
    [[nodiscard]] double transmit_times(PathId path) const;
    [[nodiscard]] double threshold() const noexcept { return threshold_; }

  private:
    struct PathState {
        SlidingExtreme<double, std::greater<>> windows{kWindowMemory};  // packets in flight
        double transmit_times = 0.0;
    };
    void set_threshold(std::span<const PathView> paths);

    PathMap<PathState> states_;
    double threshold_ = kThreshold;
    double mean_ = 0.0;  // mean of the send buffer, bytes
    std::optional<Instant> updated_;
    std::optional<PathId> culprit_;
};

}  // namespace udtx::multipath
