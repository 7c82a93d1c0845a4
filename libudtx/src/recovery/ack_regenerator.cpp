#include "recovery/ack_regenerator.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace udtx::recovery {

void AckRegenerator::on_data(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    if (begin < highest_) {
        // A segment of the list is sent again: the sender had a timeout (section 3.3).
        if (begin >= acked_) start_probing();
        if (end <= highest_) return;
        begin = highest_;
    }
    highest_ = end;
    const std::uint64_t size = end - begin;
    if (!list_.empty()) {
        Run& last = list_.back();
        const bool whole = (last.end - last.start) % last.size == 0;
        if (last.end == begin && whole && size <= last.size) {
            // A shorter segment ends its run.
            last.end = end;
            return;
        }
    }
    list_.push_back({begin, end, size});
}

AckRegenerator::Series AckRegenerator::on_ack(Instant now, std::uint64_t ack) {
    if (ack <= acked_) {
        repeated_ = repeated_ || ack == acked_;
        return {.acks = {ack}};
    }
    note_interval(now);
    Series series{.acks = take_until(ack)};
    acked_ = ack;
    highest_ = std::max(highest_, ack);
    const bool behind_gap = std::exchange(repeated_, false);
    const bool make = probing_ && !behind_gap;
    watch_slope(now);
    if (!make) series.acks.assign(1, ack);
    // Equation 4: all of them are sent before the next acknowledgement arrives. Otherwise that one would overtake some.
    series.spacing = effective_interval() / static_cast<std::int64_t>(series.acks.size());
    return series;
}

void AckRegenerator::note_interval(Instant now) {
    if (last_ack_) intervals_[interval_count_++ % kIntervals] = now - *last_ack_;  // equation 1
    last_ack_ = now;
}

// Intervals above the mean contain waits for a window or delays in the network.
Duration AckRegenerator::effective_interval() const {
    const std::span known(intervals_.data(), std::min(interval_count_, kIntervals));
    if (known.empty()) return {};
    const auto count = static_cast<std::int64_t>(known.size());
    const Duration mean = std::accumulate(known.begin(), known.end(), Duration{}) / count;  // equation 2
    Duration sum{};
    std::int64_t below = 0;
    for (const Duration interval : known) {
        if (interval >= mean) continue;
        sum += interval;
        ++below;
    }
    return below > 0 ? sum / below : mean;  // equation 3
}

std::vector<std::uint64_t> AckRegenerator::take_until(std::uint64_t ack) {
    std::vector<std::uint64_t> ends;
    while (!list_.empty() && list_.front().start < ack) {
        Run& run = list_.front();
        for (std::uint64_t end = run.start; end < std::min(run.end, ack);) {
            end = std::min(end + run.size, run.end);
            if (end > acked_ && end < ack) ends.push_back(end);
        }
        if (run.end > ack) {
            // The rest of the run starts with a whole segment, unless the receiver cut one.
            run.start = ack;
            break;
        }
        list_.pop_front();
    }
    ends.push_back(ack);
    return ends;
}

void AckRegenerator::start_probing() {
    probing_ = true;
    steepest_ = 0.0;
    slope_from_.reset();
}

// Outstanding bytes follow the sender's window. When they grow more slowly than before, slow start is over.
void AckRegenerator::watch_slope(Instant now) {
    if (!probing_) return;
    if (!slope_from_) {
        slope_from_ = now;
        slope_bytes_ = outstanding();
        slope_acks_ = 0;
        return;
    }
    if (++slope_acks_ < kSlopeAcks || now <= *slope_from_) return;
    const double grown = static_cast<double>(outstanding()) - static_cast<double>(slope_bytes_);
    const double slope = grown / to_seconds(now - *slope_from_);
    if (steepest_ > 0.0 && slope < kFallen * steepest_) probing_ = false;
    steepest_ = std::max(steepest_, slope);
    slope_from_ = now;
    slope_bytes_ = outstanding();
    slope_acks_ = 0;
}

StretchAcks::Acked StretchAcks::on_ack(Instant now, PacketNumber largest, Acked acked, bool stretched) {
    const Acked told = std::exchange(kept_, Acked{});
    const Acked whole = {.bytes = told.bytes + acked.bytes, .packets = told.packets + acked.packets};
    if (acked.packets == 0 || (newest_ && largest <= *newest_)) return whole;
    newest_ = largest;
    const AckRegenerator::Series series = regenerator_.on_ack(now, largest + 1);
    if (!stretched || series.acks.size() < 2 || acked.packets < 2) return whole;
    all_ = kept_ = acked;
    from_ = now;
    // Some numbers belong to packets that do not count against the window. The total time stays the same.
    spacing_ = series.spacing * static_cast<std::int64_t>(series.acks.size()) / acked.packets;
    const Acked first = take_due(now);
    return {.bytes = told.bytes + first.bytes, .packets = told.packets + first.packets};
}

std::optional<Instant> StretchAcks::deadline() const {
    if (kept_.packets == 0) return std::nullopt;
    return std::min(told_ + std::max(spacing_, kStep), from_ + spacing_ * static_cast<std::int64_t>(all_.packets - 1));
}

StretchAcks::Acked StretchAcks::take_due(Instant now) {
    if (kept_.packets == 0) return {};
    told_ = now;
    const auto due = spacing_ > Duration::zero() ? 1 + (now - from_) / spacing_ : std::int64_t{all_.packets};
    const auto packets = static_cast<std::uint32_t>(std::min<std::int64_t>(due, all_.packets));
    const Acked before = {.bytes = all_.bytes - kept_.bytes, .packets = all_.packets - kept_.packets};
    const std::uint64_t bytes = all_.bytes * packets / all_.packets;
    kept_ = {.bytes = all_.bytes - bytes, .packets = all_.packets - packets};
    return {.bytes = bytes - before.bytes, .packets = packets - before.packets};
}

}  // namespace udtx::recovery
