#include "probing/line_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace udtx::probing {

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
