// Congestion degree and the MTR that follows it: J. Park, H. Jang, G. Cho, "Congestion Degree Based Available Bandwidth
// Estimation Method for Enhancement of UDT Fairness" (2015), algorithms 1 and 2. Controller `cd` is UDT with this
// filter.
#pragma once

#include <cstddef>
#include <vector>

#include "congestion/udt/mtr_filter.hpp"

namespace udtx::congestion {

/// CD = (D - D_min) / (D_max - D_min) of the newest pair delay D over the last kValues values (eq. 7).
class CongestionDegree {
  public:
    static constexpr std::size_t kValues = 500;
    /// 500 ACKs of one SYN each. Slow flows get pairs less often, and without this limit a value would count for
    /// minutes.
    static constexpr Duration kMaxAge = kValues * kSynInterval;

    /// Adds a pair delay, per packet or per byte; all values must use the same unit.
    double add(Instant now, double delay);
    [[nodiscard]] double value() const noexcept { return value_; }

  private:
    struct Entry {
        Instant time;
        double delay = 0.0;
    };
    std::vector<Entry> entries_;  // ring buffer of at most kValues
    std::size_t next_ = 0;
    double value_ = 0.0;
};

/// If the estimate is below the MTR, CD selects one of three weights, else UDT's own weight applies (algorithm 2).
class CongestionDegreeMtr final : public MtrFilter {
  public:
    CongestionDegreeMtr(double alpha, double beta) : alpha_(alpha), beta_(beta) {}
    [[nodiscard]] Rate update(Rate mtr, const MtrSample& sample) override;
    [[nodiscard]] double congestion_degree() const override { return degree_.value(); }

  private:
    double alpha_;
    double beta_;
    CongestionDegree degree_;
};

}  // namespace udtx::congestion
