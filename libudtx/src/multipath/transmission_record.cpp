#include "multipath/transmission_record.hpp"

#include <algorithm>

namespace udtx::multipath {

RecordRef TransmissionRecord::on_assigned(Instant now, PathId path, Range range, bool again, Duration smoothed_rtt) {
    RecordRef ref{path, again, 0};
    List& list = list_of(ref);
    ref.number = static_cast<std::uint32_t>(list.entries.next());
    list.entries.push_back(
        {.range = range, .assigned = now, .rtt_then = smoothed_rtt, .copy_from = range.begin, .open = true});
    if (list.entries.size() > kMaxEntries) {
        list.entries.pop_front();
        list.first_open = std::max(list.first_open, list.entries.first());
    }
    return ref;
}

std::optional<std::uint64_t> TransmissionRecord::number_of(const List& list, RecordRef ref) {
    const std::uint64_t first = list.entries.first();
    const std::uint64_t number = first + static_cast<std::uint32_t>(ref.number - static_cast<std::uint32_t>(first));
    return list.entries.contains(number) ? std::optional(number) : std::nullopt;
}

TransmissionRecord::Entry* TransmissionRecord::find(List& list, RecordRef ref) {
    const auto number = number_of(list, ref);
    return number ? &list.entries[*number] : nullptr;
}

void TransmissionRecord::on_copied(Instant now, RecordRef ref, std::uint64_t end) {
    Entry* entry = find(list_of(ref), ref);
    if (entry == nullptr) return;
    entry->copied = now;
    entry->copy_from = end;
    if (end < entry->range.end) return;
    entry->copy_from = entry->range.begin;
    ++entry->copies;
}

std::optional<Range> TransmissionRecord::range_of(RecordRef ref) const {
    const Lists* lists = lists_.find(ref.path);
    if (lists == nullptr) return std::nullopt;
    const List& list = ref.again ? lists->again : lists->fresh;
    const auto number = number_of(list, ref);
    if (!number || !list.entries[*number].open) return std::nullopt;
    return list.entries[*number].range;
}

void TransmissionRecord::close(RecordRef ref) {
    List& list = list_of(ref);
    Entry* entry = find(list, ref);
    if (entry == nullptr) return;
    entry->open = false;
    trim(list);
}

// The path need not deliver these bytes any more. So the entry counts as delivered.
void TransmissionRecord::on_lost(RecordRef ref) {
    Entry* entry = find(list_of(ref), ref);
    if (entry == nullptr) return;
    entry->range.end = entry->range.begin;
    close(ref);
}

void TransmissionRecord::on_data_acked(std::uint64_t offset) {
    if (offset <= data_acked_) return;
    data_acked_ = offset;
    for (auto& [path, lists] : lists_) {
        trim(lists.fresh);
        trim(lists.again);
    }
}

// first_open and the front pass each entry once: O(1) amortised.
void TransmissionRecord::trim(List& list) {
    auto& entries = list.entries;
    while (!entries.empty()) {
        const Entry& front = entries[entries.first()];
        const bool delivered = kind_ == StreamKind::ordered && front.range.end <= data_acked_;
        const bool gone = !front.open && (kind_ == StreamKind::unordered || front.range.size() == 0);
        if (!delivered && !gone) break;
        entries.pop_front();
    }
    list.first_open = std::max(list.first_open, entries.first());
    while (list.first_open != entries.next() && !entries[list.first_open].open) ++list.first_open;
}

std::size_t TransmissionRecord::outstanding(PathId path) const {
    const Lists* lists = lists_.find(path);
    return lists == nullptr ? 0 : lists->fresh.entries.size() + lists->again.entries.size();
}

bool TransmissionRecord::empty() const {
    return std::all_of(lists_.begin(), lists_.end(), [](const auto& item) {
        return item.second.fresh.entries.empty() && item.second.again.entries.empty();
    });
}

std::optional<TransmissionRecord::Found> TransmissionRecord::head() const {
    std::optional<Found> found;
    for (const auto& [path, lists] : lists_) {
        for (const bool again : {true, false}) {
            const List& list = again ? lists.again : lists.fresh;
            if (list.first_open == list.entries.next()) continue;
            const Entry& entry = list.entries[list.first_open];
            if (!found || entry.range.begin < found->entry.range.begin) {
                found = Found{{path, again, static_cast<std::uint32_t>(list.first_open)}, entry};
            }
        }
    }
    return found;
}

// Th = clamp(3 rho, 3, 10), where rho is the ratio of the base RTTs. The steady value is about rho, because bytes of a
// slow path hold up those of a fast one for about a round trip of the slow path.
void StatusMonitor::set_threshold(std::span<const PathView> paths) {
    Duration least = Duration::max();
    Duration most{};
    for (const PathView& path : paths) {
        if (!path.usable || path.min_rtt <= Duration::zero()) continue;
        least = std::min(least, path.min_rtt);
        most = std::max(most, path.min_rtt);
    }
    const double ratio = most > Duration::zero() ? to_seconds(most) / to_seconds(least) : 1.0;
    threshold_ = std::clamp(kThreshold * ratio, kThreshold, kMaxThreshold);
}

void StatusMonitor::update(Instant now, std::uint64_t send_buffer, const TransmissionRecord& record,
                           std::span<const PathView> paths) {
    set_threshold(paths);
    double highest = 0.0;
    for (const PathView& path : paths) {
        PathState& state = states_[path.id];
        const double in_flight = static_cast<double>(path.in_flight) / path.datagram_bytes;
        state.windows.add(now, in_flight);
        const double window = std::max(1.0, state.windows.value(now).value_or(1.0));
        state.transmit_times = static_cast<double>(record.outstanding(path.id)) / window;
        highest = std::max(highest, state.transmit_times);
    }
    const auto buffered = static_cast<double>(send_buffer);
    const double elapsed = updated_ ? to_seconds(now - *updated_) : 0.0;
    if (!updated_) mean_ = buffered;
    mean_ += (buffered - mean_) * elapsed / (elapsed + kMeanTime);
    updated_ = now;

    if (highest < threshold_ / 2.0) {
        culprit_.reset();
    } else if (culprit_ || (highest > threshold_ && buffered > mean_)) {
        if (const auto head = record.head()) culprit_ = head->ref.path;
    }
}

double StatusMonitor::transmit_times(PathId path) const {
    const PathState* state = states_.find(path);
    return state == nullptr ? 0.0 : state->transmit_times;
}

}  // namespace udtx::multipath
