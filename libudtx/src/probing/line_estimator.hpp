// The sender's half of the meters: what a report of the receiver says of the line, beside how trains left here.
#pragma once

#include <optional>

#include "probing/train_meter.hpp"
#include "udtx/probing.hpp"
#include "udtx/time.hpp"
#include "wire/frame.hpp"

namespace udtx::probing {

class LineEstimator {
  public:
    /// What a controller hears of `report`; `departures`: trains as they left.
    [[nodiscard]] LineEstimate on_report(Instant now, const wire::RateFeedbackFrame& report,
                                         const TrainMeter& departures);
    /// As of the last report, with the newest pair that there was: for figures of the path.
    [[nodiscard]] const LineEstimate& last() const noexcept { return last_; }

  private:
    LineEstimate last_;
    std::optional<Instant> paired_;  // a report told of a new pair
};

}  // namespace udtx::probing
