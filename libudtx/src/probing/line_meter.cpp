#include "probing/line_meter.hpp"

#include <algorithm>
#include <chrono>

namespace udtx::probing {

void LineMeter::on_arrival(const Arrival& arrival) {
    count_train(arrival);
    if (arrival.pair_second) count_pair(arrival);
    speed_.on_arrival(arrival.time);
    previous_ = arrival;
}

void LineMeter::count_pair(const Arrival& second) {
    if (!previous_ || second.bytes == 0 || second.coalesced || previous_->coalesced) return;
    if (previous_->number + 1 != second.number || previous_->pair_second) return;
    const Duration gap = second.time - previous_->time;
    pairs_.on_pair(gap, second.bytes);
    line_pairs_.on_pair(second.time, gap, second.bytes);
}

void LineMeter::count_train(const Arrival& arrival) {
    if (arrival.pair_second && trains_.under_way())
        trains_.on_next(arrival.time, arrival.bytes, arrival.coalesced);
    else
        trains_.on_first(arrival.time, arrival.coalesced);
}

LineReport LineMeter::take_report() {
    if (trains_.packets() >= kLeastTrainPackets) trains_.finish();
    LineReport report;
    report.arrival_pps = speed_.packets_per_second();
    report.pair_gap = pairs_.take_newest_gap();
    report.pair_bytes = pairs_.newest_bytes();
    if (!previous_ || report.pair_bytes == 0) return report;
    report.capacity_pps = 1e9 / (pairs_.filtered_time_of_byte() * report.pair_bytes);
    report.granularity = trains_.granularity();
    TrainMeter::Told line = trains_.told(previous_->time);
    // Pairs count only if no trains came lately. If even a train spans fewer than three interrupts, the gap of a pair
    // is that of the interrupts.
    if (!trains_.recent(previous_->time))
        line.time_of_byte = line_pairs_.time_of_byte(previous_->time, report.granularity);
    if (line.time_of_byte <= 0.0) return report;
    report.line_pps = 1e9 / (line.time_of_byte * report.pair_bytes);
    report.line_error = line.error;
    return report;
}

wire::RateFeedbackFrame to_frame(const LineReport& report) {
    wire::RateFeedbackFrame frame;
    frame.pair_bytes = static_cast<std::uint16_t>(std::min<std::uint64_t>(report.pair_bytes, wire::kMaxPairBytes));
    frame.arrival_pps = static_cast<std::uint64_t>(report.arrival_pps);
    frame.capacity_pps = static_cast<std::uint64_t>(report.capacity_pps);
    frame.pair_gap_ns = static_cast<std::uint64_t>(report.pair_gap.count());
    frame.line_pps = static_cast<std::uint64_t>(report.line_pps);
    frame.line_error = static_cast<std::uint16_t>(std::min(report.line_error, 1.0) * wire::kWholeError);
    const auto granularity = std::chrono::round<std::chrono::microseconds>(report.granularity).count();
    frame.granularity_us = static_cast<std::uint16_t>(std::clamp<std::int64_t>(granularity, 0, wire::kMaxGranularity));
    return frame;
}

}  // namespace udtx::probing
