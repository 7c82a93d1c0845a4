#include "congestion/udt/congestion_degree.hpp"

#include <algorithm>

namespace udtx::congestion {

double CongestionDegree::add(Instant now, double delay) {
    if (entries_.size() < kValues) {
        entries_.push_back({now, delay});
    } else {
        entries_[next_] = {now, delay};
    }
    next_ = (next_ + 1) % kValues;
    double min = delay;
    double max = delay;
    for (const Entry& entry : entries_) {
        if (now - entry.time > kMaxAge) continue;
        min = std::min(min, entry.delay);
        max = std::max(max, entry.delay);
    }
    value_ = max > min ? (delay - min) / (max - min) : 0.0;
    return value_;
}

Rate CongestionDegreeMtr::update(Rate mtr, const MtrSample& sample) {
    if (sample.raw.is_zero()) return mtr;
    const double degree = degree_.add(sample.now, 1.0 / sample.raw.bps());  // D = 1 / MTR_est
    if (mtr.is_zero()) return sample.raw;
    double weight = 0.125;
    if (sample.raw < mtr) {
        if (degree > beta_) {
            weight = 1.0;
        } else if (degree >= alpha_) {
            weight = 0.875;
        }
    }
    return mtr * (1.0 - weight) + sample.raw * weight;
}

}  // namespace udtx::congestion
