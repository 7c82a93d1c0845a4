// The sender's record of one stream over several paths: what each path was given, in order of assignment (the
// paper's TSM buffer; docs/inside/multipath.md). An entry of an ordered stream stays until the receiver has all bytes
// before its end, one of a placed stream until its own bytes have arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/range_set.hpp"
#include "base/ring.hpp"
#include "multipath/path_map.hpp"
#include "udtx/ids.hpp"
#include "udtx/time.hpp"

namespace udtx::multipath {

/// Names an entry; the packets that carry its bytes remember it. Stays harmless after the entry is gone.
struct RecordRef {
    PathId path;
    bool again = false;
    std::uint32_t number = 0;  ///< modulo 2^32
    friend constexpr bool operator==(RecordRef, RecordRef) noexcept = default;
};

class TransmissionRecord {
  public:
    static constexpr std::size_t kMaxEntries = 1U << 16U;  ///< of a path; the oldest are forgotten beyond

    struct Entry {
        Range range;
        Instant assigned;
        Duration rtt_then{};          ///< sRTT of the path when it left
        std::uint64_t copy_from = 0;  ///< where the next copy begins
        Instant copied{};             ///< when the last one left
        std::uint8_t copies = 0;      ///< whole ones, sent on other paths while this one was on its way
        bool open = false;            ///< neither acknowledged nor given up for lost
    };

    explicit TransmissionRecord(StreamKind kind) : kind_(kind) {}

    /// `again`: the bytes were lost before. Fresh bytes and lost ones are kept apart, so that each path's list ascends.
    RecordRef on_assigned(Instant now, PathId path, Range range, bool again, Duration smoothed_rtt);
    /// A copy left of what lies below `end`.
    void on_copied(Instant now, RecordRef ref, std::uint64_t end);
    /// Of an entry that is open.
    [[nodiscard]] std::optional<Range> range_of(RecordRef ref) const;
    /// All its bytes have arrived, in the entry's own packet or in copies.
    void on_acked(RecordRef ref) { close(ref); }
    /// The bytes will be assigned anew.
    void on_lost(RecordRef ref);
    /// Ordered: the receiver has all below `offset`.
    void on_data_acked(std::uint64_t offset);

    /// NoPkt_i: the entries of a path that the receiver has not delivered yet.
    [[nodiscard]] std::size_t outstanding(PathId path) const;
    struct Found {
        RecordRef ref;
        Entry entry;
    };
    [[nodiscard]] bool empty() const;
    /// What the receiver waits for: the open entry of the lowest offset.
    [[nodiscard]] std::optional<Found> head() const;
    /// Calls fn(ref, entry) for the open entries of `path`, oldest first of lost bytes and then of fresh ones, at most
    /// `most` of each, until fn returns false.
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
                if (!fn(RecordRef{path, again, static_cast<std::uint32_t>(n)}, list.entries[n])) break;
            }
        }
    }

  private:
    struct List {
        Ring<Entry> entries{};
        std::uint64_t first_open = 0;  // none is open below
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

}  // namespace udtx::multipath
