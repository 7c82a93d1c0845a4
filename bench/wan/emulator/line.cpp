#include "line.hpp"

#include <algorithm>
#include <utility>

namespace udtx::wan {

namespace {

constexpr Instant kNever = Instant::max();

}  // namespace

Line::Line(Instant start, LineSetup setup)
    : start_(start), setup_(std::move(setup)), prng_(setup_.seed), busy_until_(start) {
    cross_due_ = next_cross(start);
}

std::size_t Line::phase_at(Instant at) const {
    std::size_t phase = setup_.phases.size() - 1;
    while (phase > 0 && start_ + setup_.phases[phase].from > at) --phase;
    return phase;
}

Instant Line::phase_end(std::size_t phase) const {
    return phase + 1 < setup_.phases.size() ? start_ + setup_.phases[phase + 1].from : kNever;
}

/// When the last bit leaves if the first one leaves at `begin`. The rate may change between them.
Instant Line::serialised(Instant begin, std::uint32_t bytes) const {
    double left = bytes;
    for (std::size_t phase = phase_at(begin);; ++phase) {
        const Rate rate = setup_.phases[phase].params.rate;
        const Instant end = phase_end(phase);
        if (rate.is_infinite()) return begin;
        const double possible = end == kNever ? left : rate.bytes_in(end - begin);
        if (rate.is_zero() && end == kNever) return kNever;
        if (possible >= left) return begin + from_seconds(left * 8.0 / rate.bps());
        left -= possible;
        begin = end;
    }
}

std::optional<Line::Service> Line::enqueue(Instant now, std::uint32_t bytes) {
    if (busy_until_ == kNever) return std::nullopt;  // the link stays down until the end
    const bool waits = busy_until_ > now;
    if (waits && waiting_bytes_ + bytes > params_at(now).queue_bytes) return std::nullopt;
    const Instant begin = std::max(now, busy_until_);
    busy_until_ = serialised(begin, bytes);
    if (busy_until_ == kNever) return std::nullopt;
    if (waits) {
        waiting_.push_back({begin, bytes});
        waiting_bytes_ += bytes;
        peak_bytes_ = std::max(peak_bytes_, waiting_bytes_);
    }
    return Service{begin, busy_until_};
}

/// Arrival with the propagation delay at the time of departure. Packets of a flow keep their order unless the settings
/// ask for reordering.
Instant Line::arrival(Instant departure, FlowId flow) {
    const LineParams& params = params_at(departure);
    Instant at = departure + params.delay + setup_.extra_delay[flow];
    if (params.jitter > Duration::zero()) {
        const auto limit = static_cast<std::uint64_t>(params.jitter.count()) + 1;
        at += Duration(static_cast<Duration::rep>(prng_.below(limit)));
    }
    if (prng_.chance(params.reorder)) {
        ++counters_.reordered;
        return at + params.reorder_by;
    }
    if (!params.keep_order) return at;
    last_arrival_[flow] = std::max(last_arrival_[flow], at);
    return last_arrival_[flow];
}

/// When the receiver's card hands over a packet that arrived at `at`. The card's timer is periodic and does not depend
/// on the packets.
Instant Line::interrupt(Instant at) const {
    const Duration period = params_at(at).coalesce;
    if (period <= Duration::zero()) return at;
    const Duration into = at.time_since_epoch() % period;
    return into == Duration::zero() ? at : at + (period - into);
}

/// Gilbert-Elliott loss model: the state may change once per packet, then the new state's loss applies.
bool Line::lost_in_burst(const sim::BurstLoss& burst) {
    if (burst.enter <= 0.0) return false;
    if (prng_.chance(bad_state_ ? burst.leave : burst.enter)) bad_state_ = !bad_state_;
    return prng_.chance(bad_state_ ? burst.loss_in_bad : burst.loss_in_good);
}

Fate Line::offer(Instant now, std::uint32_t bytes, FlowId flow) {
    advance(now);
    ++counters_.offered;
    counters_.offered_bytes += bytes;
    const LineParams& params = params_at(now);
    if (prng_.chance(params.loss)) {
        ++counters_.dropped_loss;
        return {Verdict::lost, {}, {}};
    }
    if (lost_in_burst(params.burst)) {
        ++counters_.dropped_burst;
        return {Verdict::lost_in_burst, {}, {}};
    }
    const auto service = enqueue(now, bytes);
    if (!service) {
        ++counters_.dropped_queue;
        return {Verdict::queue_full, {}, {}};
    }
    ++counters_.queued;
    counters_.wait_seconds += to_seconds(service->begin - now);
    Fate fate;
    fate.at = interrupt(arrival(service->end, flow));
    if (prng_.chance(params.duplicate)) {
        ++counters_.duplicated;
        fate.duplicate = fate.at;
    }
    return fate;
}

void Line::on_delivered(FlowId flow, std::uint32_t bytes) {
    ++counters_.delivered;
    counters_.delivered_bytes += bytes;
    flow_bytes_[flow] += bytes;
}

void Line::serve(Instant now) {
    while (!waiting_.empty() && waiting_.front().service <= now) {
        waiting_bytes_ -= waiting_.front().bytes;
        waiting_.pop_front();
    }
}

/// Earliest time at or after `from` when a packet of the cross traffic may arrive.
Instant Line::next_cross(Instant from) const {
    for (std::size_t phase = phase_at(from); phase < setup_.phases.size(); ++phase) {
        const CrossTraffic& cross = setup_.phases[phase].params.cross;
        if (!cross.rate.is_zero()) {
            Instant at = std::max(from, start_ + cross.from);
            const Duration cycle = cross.on + cross.off;
            const Duration within = (at - start_ - cross.from) % cycle;
            if (within >= cross.on) at += cycle - within;
            if (at < phase_end(phase)) return at;
        }
        from = phase_end(phase);
    }
    return kNever;
}

void Line::advance(Instant now) {
    while (cross_due_ <= now) {
        const Instant at = cross_due_;
        const CrossTraffic& cross = params_at(at).cross;
        serve(at);
        if (enqueue(at, cross.packet_bytes)) {
            counters_.cross_bytes += cross.packet_bytes;
        } else {
            ++counters_.cross_dropped;
        }
        cross_due_ = next_cross(at + cross.rate.time_for(cross.packet_bytes));
    }
    serve(now);
}

std::uint64_t Line::queue_bytes(Instant now) {
    advance(now);
    return waiting_bytes_;
}

std::uint64_t Line::take_queue_peak() { return std::exchange(peak_bytes_, waiting_bytes_); }

}  // namespace udtx::wan
