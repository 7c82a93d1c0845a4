#include "probing/line_estimator.hpp"

#include <chrono>

#include "probing/constants.hpp"

namespace udtx::probing {

LineEstimate LineEstimator::on_report(Instant now, const wire::RateFeedbackFrame& report,
                                      const TrainMeter& departures) {
    const auto rate = [&report](std::uint64_t pps) {
        return Rate::bytes_per_second(static_cast<double>(pps) * report.pair_bytes);
    };
    const double leaving = departures.told(now).time_of_byte;
    if (report.pair_gap_ns > 0 || !paired_) paired_ = now;
    LineEstimate line;
    line.capacity = rate(report.line_pps);
    if (!line.capacity.is_zero()) line.evidence = leaving > 0.0 ? LineEvidence::trains : LineEvidence::pairs;
    line.error = static_cast<double>(report.line_error) / wire::kWholeError;
    line.granularity = std::chrono::microseconds(report.granularity_us);
    line.only_least =
        report.line_error >= wire::kWholeError || line.capacity.bytes_per_second() * leaving > kAsTheyLeft * 1e9;
    line.age = now - *paired_;
    line.pair_capacity = rate(report.capacity_pps);
    line.newest_pair = Rate::from_bytes(report.pair_bytes, std::chrono::nanoseconds(report.pair_gap_ns));
    line.arrival_pps = static_cast<double>(report.arrival_pps);
    const Rate pair = line.newest_pair.is_zero() ? last_.newest_pair : line.newest_pair;
    last_ = line;
    last_.newest_pair = pair;
    return line;
}

}  // namespace udtx::probing
