#include "probing/line_estimate.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "probing/pair_meter.hpp"

namespace udtx::probing {

void TrainMeter::on_first(Instant time, bool spoilt) {
    finish();
    train_ = Train{
        .first = time, .newest = {.time = time, .bytes = 0, .packets = 1}, .packets = 1, .bursts = 1, .spoilt = spoilt};
}

void TrainMeter::on_next(Instant time, std::uint32_t bytes, bool spoilt) {
    train_.spoilt = train_.spoilt || spoilt || train_.packets >= kMostTrainPackets;
    if (train_.spoilt) {
        ++train_.packets;
        return;
    }
    if (time - train_.newest.time >= min_gap_) {
        ends_[train_.bursts - 1] = train_.newest;
        ++train_.bursts;
    }
    ++train_.packets;
    train_.newest = {.time = time, .bytes = train_.newest.bytes + bytes, .packets = train_.packets};
}

void TrainMeter::finish() {
    const Train train = std::exchange(train_, Train{});
    if (train.packets < kLeastTrainPackets) return;  // mostly a single packet
    if (train.spoilt) return;
    seen_ = true;
    seen_at_ = train.newest.time;
    if (train.bursts > 2 && train.bursts < train.packets && !straight(train.bursts - 1)) bent_at_ = train.newest.time;
    if (bent_at_ && train.newest.time - *bent_at_ <= kTrainLife) {
        take_whole(train, 1.0);
    } else if (train.bursts == train.packets) {
        granularity_ = Duration::zero();
        take_whole(train, 0.0);
    } else {
        take_bursts(train);
    }
}

void TrainMeter::take_whole(const Train& train, double error) {
    const Duration length = train.newest.time - train.first;
    keep(train.newest.time, {.time_of_byte = static_cast<double>(length.count()) / train.newest.bytes, .error = error});
}

void TrainMeter::take_bursts(const Train& train) {
    if (train.bursts <= 2) {
        const bool resolved = count_ > 0 && train.newest.time - last_ <= kTrainLife && agreed_.error < 1.0;
        if (resolved) return;
        granularity_ = std::max(granularity_, kTrainTime);  // a guess, so that the next train is longer
        if (train.bursts == 2) take_whole(train, 1.0);      // one burst gives no bound at all
        return;
    }
    const Mark& from = ends_[0];
    const Mark& to = ends_[train.bursts - 2];
    const Duration length = to.time - from.time;
    granularity_ = length / (train.bursts - 2);
    keep(train.newest.time, {.time_of_byte = static_cast<double>(length.count()) / (to.bytes - from.bytes),
                             .error = 1.0 / (to.packets - from.packets)});
}

// At each end of a burst, the link may have sent up to one packet more than arrived.
bool TrainMeter::straight(std::size_t ends) const {
    const Mark& from = ends_[0];
    const Mark& to = ends_[ends - 1];
    const double packets = to.packets - from.packets;
    const double time = to_seconds(to.time - from.time);
    return std::all_of(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(ends), [&](const Mark& end) {
        const double due = packets * to_seconds(end.time - from.time) / time;
        return std::abs(end.packets - from.packets - due) <= kOffLine;
    });
}

void TrainMeter::keep(Instant time, const Pass& pass) {
    // The first train with a full result replaces all that gave only a bound.
    if (time - last_ > kTrainLife || (agreed_.error >= 1.0 && pass.error < 1.0)) count_ = 0;
    passes_[count_ % kTrains] = pass;
    ++count_;
    last_ = time;
    agree();
}

void TrainMeter::agree() {
    const auto known = static_cast<std::ptrdiff_t>(std::min(count_, kTrains));
    std::array<Pass, kTrains> sorted = passes_;
    const auto end = sorted.begin() + known;
    std::sort(sorted.begin(), end, [](const Pass& a, const Pass& b) { return a.time_of_byte < b.time_of_byte; });
    const auto within = [](const Pass& shorter, const Pass& longer) {
        return longer.time_of_byte <= (kTrainsAgree + std::min(shorter.error, 1.0)) * shorter.time_of_byte;
    };
    const auto confirmed = std::adjacent_find(sorted.begin(), end, within);
    if (confirmed == end) {
        const Pass& middle = sorted[static_cast<std::size_t>(known) / 2];
        agreed_ = {.time_of_byte = middle.time_of_byte, .error = middle.error};
        return;
    }
    if (const Pass& other = *std::next(confirmed); confirmed->error <= 0.0 && other.error <= 0.0) {
        agreed_ = {.time_of_byte = other.time_of_byte, .error = 0.0};
        return;
    }
    // Blurred timestamps err in both directions, so the mean of all that agree counts.
    double time = 0.0;
    double error = 0.0;
    double passes = 0.0;
    for (auto pass = confirmed; pass != end && within(*confirmed, *pass); ++pass) {
        time += pass->time_of_byte;
        error += pass->error;
        passes += 1.0;
    }
    agreed_ = {.time_of_byte = time / passes, .error = error / passes};
}

TrainMeter::Told TrainMeter::told(Instant now) const {
    return count_ > 0 && now - last_ <= kTrainLife ? agreed_ : Told{};
}

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

LineEstimate LineEstimator::on_report(Instant now, const wire::RateFeedbackFrame& report,
                                      const TrainMeter& departures) {
    const auto rate = [&report](std::uint64_t pps) {
        return Rate::bytes_per_second(static_cast<double>(pps) * report.pair_bytes);
    };
    const double leaving = departures.told(now).time_of_byte;
    LineEstimate line;
    line.capacity = rate(report.line_pps);
    line.error = static_cast<double>(report.line_error) / wire::kWholeError;
    line.granularity = std::chrono::microseconds(report.granularity_us);
    line.only_least =
        report.line_error >= wire::kWholeError || line.capacity.bytes_per_second() * leaving > kAsTheyLeft * 1e9;
    line.pair_capacity = rate(report.capacity_pps);
    line.newest_pair = Rate::from_bytes(report.pair_bytes, std::chrono::nanoseconds(report.pair_gap_ns));
    line.arrival_pps = static_cast<double>(report.arrival_pps);
    const Rate pair = line.newest_pair.is_zero() ? last_.newest_pair : line.newest_pair;
    last_ = line;
    last_.newest_pair = pair;
    return line;
}

}  // namespace udtx::probing
