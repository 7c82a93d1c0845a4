#include "multipath/reinjector.hpp"

#include <algorithm>

#include "multipath/path_view.hpp"

namespace udtx::multipath {
namespace {

/// Age from which a datagram is late, if the path had this smoothed RTT when the datagram left.
Duration late_after(const PathView& path, Duration smoothed_rtt) {
    const Duration by_base = from_seconds(Reinjector::kLateRtts * to_seconds(path.min_rtt));
    return std::max(by_base, smoothed_rtt) + Reinjector::kLateTime + Reinjector::kAckDelay;
}

}  // namespace

/// Values that are the same for all entries of one call.
struct Reinjector::Case {
    Instant now;
    bool tail = false;  // nothing is left to assign
    bool ordered = false;
    bool limited = false;  // the receive window stops new bytes
    std::uint64_t data_acked = 0;
    std::uint64_t passed = 0;     // entries that begin below were passed by other paths; nothing waits for later ones
    bool alarm = false;           // the examined path is the culprit
    std::optional<Instant> next;  // when the next entry will be late
};

// The other path on which a datagram would arrive first.
const PathView* Reinjector::target(const Case& c, PathId owner, std::span<const PathView> paths) const {
    const Eligible eligible(paths);
    const PathView* best = nullptr;
    double least = 0.0;
    for (const PathView& path : paths) {
        if (path.id == owner || !eligible.ready(path)) continue;
        const double eta = forecast(c.now, path).eta;
        if (best != nullptr && eta >= least) continue;
        best = &path;
        least = eta;
    }
    return best;
}

std::optional<Reinjection> Reinjector::look(Case& c, const PathView& owner, const TransmissionRecord& record,
                                            std::span<const PathView> paths) const {
    const PathView* other = target(c, owner.id, paths);
    if (other == nullptr) return std::nullopt;
    const Forecast there = forecast(c.now, *other);
    const double delay = forecast(c.now, owner).delay;
    const Duration copy_late = late_after(*other, other->smoothed_rtt);
    // Entries near the head are those that the receiver would wait for before a copy could arrive.
    const double heard_after = there.eta + to_seconds(other->min_rtt) / 2.0 + to_seconds(kAckDelay);
    const auto reach = static_cast<std::uint64_t>(there.rate * heard_after);
    const std::uint64_t near_bytes = std::max(reach, kHeadPackets * other->datagram_bytes);
    const std::uint64_t head_end = c.ordered ? c.data_acked + near_bytes : 0;
    const bool bloated = to_seconds(owner.smoothed_rtt) > Forecast::kBloatedRtts * to_seconds(owner.min_rtt);

    std::optional<Reinjection> found;
    record.for_each_open(owner.id, kOldest, [&](RecordRef ref, const TransmissionRecord::Entry& entry) {
        const Duration age = c.now - entry.assigned;
        // Uses the RTT at the time of assignment, because the present RTT rises with the late packets.
        const Duration owner_late = late_after(owner, std::min(entry.rtt_then, owner.smoothed_rtt));
        const bool late = age > owner_late || !owner.usable;
        const double expected = delay - to_seconds(age);
        const double remain = std::max(expected, late ? to_seconds(age) / 2.0 : 0.0);
        const bool near = entry.range.begin < head_end || c.limited;
        const bool passed = entry.range.begin < c.passed;
        const bool helps = there.eta < remain;
        // On a path that is known to be bloated, the copy is sent before the entry is late, once the receiver waits for
        // it.
        const bool slow = late || (bloated && passed && expected > kMuchLater * there.eta);
        // A copy gets the time to arrive before a second one is sent.
        const bool begun = entry.copy_from > entry.range.begin;
        const bool copied = entry.copies > 0 && !begun && c.now - entry.copied <= copy_late;
        if (entry.copies < kMaxCopies && !copied && helps && ((c.alarm && passed) || (slow && near) || c.tail) &&
            budget_->allows_copy(entry.range.size())) {
            found = Reinjection{ref, {entry.copy_from, entry.range.end}, other->id};
            return false;
        }
        if (!late || copied) {
            const Instant at = (copied ? entry.copied + copy_late : entry.assigned + owner_late) + kPause;
            if (!c.next || at < *c.next) c.next = at;
        }
        // The RTT at assignment differs from entry to entry: a later entry may be late although this one is not.
        return true;
    });
    return found;
}

std::optional<Reinjection> Reinjector::next(Instant now, const StreamDemand& demand, const TransmissionRecord& record,
                                            std::optional<PathId> culprit, std::span<const PathView> paths) {
    if (now < not_before_ || paths.size() < 2) return std::nullopt;
    Case c;
    c.now = now;
    c.tail = demand.end_known && demand.remaining == 0;
    if (demand.kind == StreamKind::ordered) {
        std::uint64_t hold = demand.limit;
        if (demand.receive_window > 0) hold = std::min(hold, demand.data_acked + demand.receive_window);
        c.limited = demand.highest() + paths.front().datagram_bytes > hold;
        c.passed = demand.next;
        c.ordered = true;
        c.data_acked = demand.data_acked;
    }
    for (const PathView& owner : paths) {
        c.alarm = culprit == owner.id;
        if (auto found = look(c, owner, record, paths)) return found;
    }
    not_before_ = now + kPause;
    wakeup_ = c.next ? std::optional(std::max(*c.next, not_before_)) : std::nullopt;
    return std::nullopt;
}

void Reinjector::on_sent(const Reinjection& copy, std::uint64_t end) { budget_->on_copy(end - copy.range.begin); }

}  // namespace udtx::multipath
