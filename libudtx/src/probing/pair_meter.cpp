#include "probing/pair_meter.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "probing/near_median.hpp"

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

}  // namespace udtx::probing
