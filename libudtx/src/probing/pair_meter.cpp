#include "probing/pair_meter.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace udtx::probing {

void PairMeter::on_pair(Duration gap, std::uint32_t bytes) {
    if (gap >= kLeastGap) {
        too_close_ = 0;
    } else {
        if (++too_close_ < kPairs / 2) return;
        gap = kLeastGap;
    }
    keep(static_cast<double>(gap.count()) / bytes);
    ++count_;
    newest_gap_ = gap;
    newest_bytes_ = bytes;
}

// The newest gap replaces the oldest one, also in the sorted array.
void PairMeter::keep(double gap) {
    double& place = gaps_[count_ % kPairs];
    const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(known());
    const auto to = std::lower_bound(sorted_.begin(), end, gap);
    const auto from = known() < kPairs ? end : std::lower_bound(sorted_.begin(), end, place);
    if (to <= from) {
        std::copy_backward(to, from, from + 1);
        *to = gap;
    } else {
        std::copy(from + 1, to, from);
        *(to - 1) = gap;
    }
    place = gap;
}

Duration PairMeter::take_newest_gap() { return std::exchange(newest_gap_, Duration::zero()); }

double PairMeter::filtered_time_of_byte() const {
    const std::size_t known = this->known();
    if (known == 0) return 0.0;
    const double median = sorted_[known / 2];  // UDT4 takes the upper of the two middle values
    double sum = median;                       // and counts it twice
    if (near_median(sorted_[0], median) && near_median(sorted_[known - 1], median)) {
        return std::accumulate(gaps_.begin(), gaps_.begin() + static_cast<std::ptrdiff_t>(known), sum) /
               static_cast<double>(known + 1);
    }
    double count = 1.0;
    for (std::size_t i = 0; i < known; ++i) {
        if (!near_median(gaps_[i], median)) continue;
        sum += gaps_[i];
        count += 1.0;
    }
    return sum / count;
}

double ArrivalSpeed::packets_per_second() const {
    const std::size_t known = std::min(count_, kIntervals);
    if (known <= kIntervals / 2) return 0.0;
    std::array<double, kIntervals> sorted{};
    for (std::size_t i = 0; i < known; ++i) sorted[i] = intervals_[i].per_packet_ns;
    // UDT4 takes the upper of the two middle values.
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(known / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(known));
    const double median = *middle;
    double time_ns = 0.0;
    double packets = 0.0;
    std::size_t passed = 0;
    for (std::size_t i = 0; i < known; ++i) {
        const Interval& interval = intervals_[i];
        if (!near_median(interval.per_packet_ns, median)) continue;
        ++passed;
        time_ns += interval.per_packet_ns * interval.packets;
        packets += interval.packets;
    }
    return passed > kIntervals / 2 ? packets * 1e9 / time_ns : 0.0;
}

namespace {

// A card with a beat shorter than the gap turns equal gaps into two values, one beat apart. Their mean is right. Cross
// traffic adds the time of its packets, so gaps of other lengths appear, or of one more whole gap.
double without_beat(std::span<const double> sorted, double low) {
    const auto from = std::lower_bound(sorted.begin(), sorted.end(), low / kBeatRatio);
    const auto end = std::upper_bound(from, sorted.end(), low * kBeatRatio);
    const double least = *from;
    const double most = *(end - 1);
    const auto is_either = [&](double gap) { return gap <= kStampNoise * least || kStampNoise * gap >= most; };
    if (!std::all_of(from, end, is_either)) return low;
    return std::accumulate(from, end, 0.0) / static_cast<double>(end - from);
}

}  // namespace

void LinePairs::on_pair(Instant time, Duration gap, std::uint32_t bytes) {
    gaps_[count_ % kPairs] = {.time = time, .length = gap, .bytes = bytes};
    ++count_;
}

double LinePairs::time_of_byte(Instant now, Duration granularity) const {
    std::array<double, kPairs> recent{};
    std::size_t known = 0;
    const Duration least = granularity > Duration::zero() ? Duration::zero() : kLeastGap;
    std::uint32_t bytes = 0;
    for (std::size_t back = 1; back <= std::min(count_, kPairs); ++back) {
        const Gap& gap = gaps_[(count_ - back) % kPairs];
        if (known >= kFewPairs && now - gap.time > kPairLife) break;
        if (gap.length < least) continue;
        bytes = std::max(bytes, gap.bytes);
        recent[known++] = static_cast<double>(gap.length.count()) / gap.bytes;
    }
    if (known == 0) return 0.0;
    std::sort(recent.begin(), recent.begin() + static_cast<std::ptrdiff_t>(known));
    const double low = recent[known / 5];
    if (granularity <= Duration::zero()) return without_beat(std::span(recent).first(known), low);
    const double most = low + 1.5 * static_cast<double>(granularity.count()) / bytes;
    double sum = 0.0;
    std::size_t near = 0;
    for (; near < known && recent[near] <= most; ++near) sum += recent[near];
    return sum / static_cast<double>(near);
}

}  // namespace udtx::probing
