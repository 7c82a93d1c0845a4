#include "recovery/packet_pair.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace udtx::recovery {

namespace {

// UDT4 takes the upper of the two middle values. Reorders `values`.
double median_of(std::span<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

bool near_median(double value, double median) { return value > median / 8.0 && value < median * 8.0; }

}  // namespace

void PacketPairMonitor::on_arrival(const Arrival& arrival) {
    count_train(arrival);
    if (arrival.pair_second) count_pair(arrival);
    count_arrival(arrival.time);
    previous_ = arrival;
}

void PacketPairMonitor::count_pair(const Arrival& second) {
    if (!previous_ || second.bytes == 0 || second.coalesced || previous_->coalesced) return;
    if (previous_->number + 1 != second.number || previous_->pair_second) return;
    Duration gap = second.time - previous_->time;
    if (gap >= kMinPairGap) {
        too_close_ = 0;
    } else {
        // Mostly two packets of one interrupt. Where nothing else ever comes, the path is faster than stamps can
        // tell: at least this fast.
        if (++too_close_ < kPairs / 2) return;
        gap = kMinPairGap;
    }
    keep_pair(static_cast<double>(gap.count()) / second.bytes);
    pair_times_[pair_count_ % kPairs] = second.time;
    ++pair_count_;
    newest_gap_ = gap;
    newest_bytes_ = second.bytes;
}

// The newest takes the place of the oldest, among the sorted ones, too.
void PacketPairMonitor::keep_pair(double gap) {
    const std::size_t known = std::min(pair_count_, kPairs);
    double& place = pairs_[pair_count_ % kPairs];
    const auto end = sorted_pairs_.begin() + static_cast<std::ptrdiff_t>(known);
    const auto to = std::lower_bound(sorted_pairs_.begin(), end, gap);
    const auto from = known < kPairs ? end : std::lower_bound(sorted_pairs_.begin(), end, place);
    if (to <= from) {
        std::copy_backward(to, from, from + 1);
        *to = gap;
    } else {
        std::copy(from + 1, to, from);
        *(to - 1) = gap;
    }
    place = gap;
}

void PacketPairMonitor::count_train(const Arrival& arrival) {
    if (arrival.pair_second && trains_.under_way())
        trains_.on_next(arrival.time, arrival.bytes, arrival.coalesced);
    else
        trains_.on_first(arrival.time, arrival.coalesced);
}

// A span ends with the last packet of its stamp, which is known when a later stamp comes.
void PacketPairMonitor::count_arrival(Instant time) {
    if (!previous_) {
        span_start_ = time;
        return;
    }
    const Duration span = previous_->time - span_start_;
    if (time > previous_->time && span_packets_ > 0 && span >= kMinSpan) {
        arrivals_[arrival_count_ % kArrivals] = {static_cast<double>(span.count()) / span_packets_, span_packets_};
        ++arrival_count_;
        span_start_ = previous_->time;
        span_packets_ = 0;
    }
    ++span_packets_;
}

double PacketPairMonitor::arrival_pps() const {
    const std::size_t known = std::min(arrival_count_, kArrivals);
    if (known <= kArrivals / 2) return 0.0;
    std::array<double, kArrivals> sorted{};
    for (std::size_t i = 0; i < known; ++i) sorted[i] = arrivals_[i].per_packet_ns;
    const double median = median_of(std::span(sorted.data(), known));
    double time_ns = 0.0;
    double packets = 0.0;
    std::size_t passed = 0;
    for (std::size_t i = 0; i < known; ++i) {
        const Interval& interval = arrivals_[i];
        if (!near_median(interval.per_packet_ns, median)) continue;
        ++passed;
        time_ns += interval.per_packet_ns * interval.packets;
        packets += interval.packets;
    }
    return passed > kArrivals / 2 ? packets * 1e9 / time_ns : 0.0;
}

double PacketPairMonitor::gap_ns_per_byte() const {
    const std::size_t known = std::min(pair_count_, kPairs);
    if (known == 0) return 0.0;
    const double median = sorted_pairs_[known / 2];
    double sum = median;  // UDT4 counts the median once more
    if (near_median(sorted_pairs_[0], median) && near_median(sorted_pairs_[known - 1], median)) {
        return std::accumulate(pairs_.begin(), pairs_.begin() + static_cast<std::ptrdiff_t>(known), sum) /
               static_cast<double>(known + 1);
    }
    double count = 1.0;
    for (std::size_t i = 0; i < known; ++i) {
        if (!near_median(pairs_[i], median)) continue;
        sum += pairs_[i];
        count += 1.0;
    }
    return sum / count;
}

std::size_t PacketPairMonitor::recent_pairs() const {
    const std::size_t known = std::min(pair_count_, kPairs);
    if (pair_count_ >= kPairs && previous_->time - pair_times_[pair_count_ % kPairs] <= kPairLife) return known;
    std::size_t recent = std::min(known, kFewPairs);
    while (recent < known && previous_->time - pair_times_[(pair_count_ - 1 - recent) % kPairs] <= kPairLife) ++recent;
    return recent;
}

double PacketPairMonitor::line_ns_per_byte() const {
    if (const double line = previous_ ? trains_.time_of_byte(previous_->time) : 0.0; line > 0.0) return line;
    const std::size_t known = recent_pairs();
    if (known == 0) return 0.0;
    if (known == std::min(pair_count_, kPairs)) return sorted_pairs_[known / 5];
    std::array<double, kPairs> sorted{};
    for (std::size_t i = 0; i < known; ++i) sorted[i] = pairs_[(pair_count_ - 1 - i) % kPairs];
    const auto rank = sorted.begin() + static_cast<std::ptrdiff_t>(known / 5);
    std::nth_element(sorted.begin(), rank, sorted.begin() + static_cast<std::ptrdiff_t>(known));
    return *rank;
}

RateFeedback PacketPairMonitor::take_feedback() {
    if (trains_.packets() >= TrainMeter::kMinTrain) trains_.finish();
    RateFeedback feedback;
    feedback.arrival_pps = arrival_pps();
    if (const double gap = gap_ns_per_byte(); gap > 0.0) feedback.capacity_pps = 1e9 / (gap * newest_bytes_);
    if (const double gap = line_ns_per_byte(); gap > 0.0 && newest_bytes_ > 0) {
        feedback.line_pps = 1e9 / (gap * newest_bytes_);
    }
    feedback.pair_gap = newest_gap_;
    feedback.pair_bytes = newest_bytes_;
    newest_gap_ = Duration::zero();
    return feedback;
}

}  // namespace udtx::recovery
