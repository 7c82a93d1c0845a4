#include "probing/pair_meter.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "probing/near_median.hpp"

namespace udtx::probing {

void PairMeter::on_pair(Instant time, Duration gap, std::uint32_t bytes) {
    if (gap >= kLeastGap) {
        too_close_ = 0;
    } else {
        if (++too_close_ < kPairs / 2) return;
        gap = kLeastGap;
    }
    keep(static_cast<double>(gap.count()) / bytes);
    times_[count_ % kPairs] = time;
    ++count_;
    newest_gap_ = gap;
    newest_bytes_ = bytes;
}

// The newest takes the place of the oldest, among the sorted ones, too.
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
    double sum = median;                       // and counts it once more
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

std::size_t PairMeter::recent(Instant now) const {
    const std::size_t known = this->known();
    if (count_ >= kPairs && now - times_[count_ % kPairs] <= kPairLife) return known;
    std::size_t recent = std::min(known, kFewPairs);
    while (recent < known && now - times_[(count_ - 1 - recent) % kPairs] <= kPairLife) ++recent;
    return recent;
}

double PairMeter::time_of_byte(Instant now) const {
    const std::size_t recent = this->recent(now);
    if (recent == 0) return 0.0;
    if (recent == known()) return sorted_[recent / 5];
    std::array<double, kPairs> sorted{};
    for (std::size_t i = 0; i < recent; ++i) sorted[i] = gaps_[(count_ - 1 - i) % kPairs];
    const auto rank = sorted.begin() + static_cast<std::ptrdiff_t>(recent / 5);
    std::nth_element(sorted.begin(), rank, sorted.begin() + static_cast<std::ptrdiff_t>(recent));
    return *rank;
}

}  // namespace udtx::probing
