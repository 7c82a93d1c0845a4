// The sender's half of the meters. It combines a report of the receiver with the rate at which trains left here.
#pragma once

#include <optional>

#include "probing/train_meter.hpp"
#include "udtx/probing.hpp"
#include "udtx/time.hpp"
#include "wire/frame.hpp"

namespace udtx::probing {

class LineEstimator {
  public:
    /// Makes the estimate that a controller gets from `report`. `departures` has the trains as they left.
    [[nodiscard]] LineEstimate on_report(Instant now, const wire::RateFeedbackFrame& report,
                                         const TrainMeter& departures);
    /// Estimate of the last report, with the newest pair ever reported; for statistics of the path.
    [[nodiscard]] const LineEstimate& last() const noexcept { return last_; }

  private:
    LineEstimate last_;
    std::optional<Instant> paired_;  // when a report last contained a new pair
};

}  // namespace udtx::probing
