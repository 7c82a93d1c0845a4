#include "probing/line_pairs.hpp"

#include <algorithm>

namespace udtx::probing {

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
    if (granularity <= Duration::zero()) return low;
    const double most = low + 1.5 * static_cast<double>(granularity.count()) / bytes;
    double sum = 0.0;
    std::size_t near = 0;
    for (; near < known && recent[near] <= most; ++near) sum += recent[near];
    return sum / static_cast<double>(near);
}

}  // namespace udtx::probing
