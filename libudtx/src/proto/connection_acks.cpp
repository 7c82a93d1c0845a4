// Processing of ACKs: what they mean to streams, congestion control and the search for the datagram size.
#include <algorithm>
#include <numeric>
#include <utility>

#include "proto/connection_impl.hpp"

namespace udtx::proto {

Result<void> Connection::Impl::on_ack(Instant now, const PathContext& via, const wire::AckFrame& frame,
                                      const std::optional<wire::RateFeedbackFrame>& told) {
    PathContext* p = paths_.find(frame.path);
    if (p == nullptr && paths_.was_used(frame.path)) return {};
    if (p == nullptr) return Error{ErrorCode::protocol, "acknowledgement for a path that does not exist"};
    outcome_.clear();
    const Duration delay = std::min<Duration>(
        std::chrono::microseconds(std::min<std::uint64_t>(frame.delay_us, 1000000)), std::chrono::seconds(1));
    const auto ok = p->recovery.on_ack(now, frame, delay, outcome_);
    if (!ok) return ok;
    keys_->on_acked(p->id, frame.largest());
    const auto largest = [](std::uint32_t most, const recovery::SentPacket& packet) {
        return std::max(most, packet.ack_eliciting ? packet.bytes : 0U);
    };
    const std::uint32_t proven =
        p->state == PathState::suspended
            ? std::accumulate(outcome_.acked.begin(), outcome_.acked.end(), std::uint32_t{0}, largest)
            : 0U;
    const bool alive = outcome_.proves_alive;
    if (alive && p->state == PathState::active) p->recovery.end_timeout();
    apply_outcome(now, *p, false, told && told->path == p->id ? &*told : nullptr);
    // Only an ACK that arrives on the path itself shows that the path works in both directions.
    const bool own = via.id == p->id || !experiment_.silent_path_rule;
    if (alive && own && p->state == PathState::suspended) revive(now, *p, proven);
    return {};
}

void Connection::Impl::take_acked(Instant now, PathContext& p) {
    for (const auto& packet : outcome_.acked) {
        congestion_feedback_.largest_acked = packet.number;
        if (packet.mtu_probe) {
            p.mtu.on_probe_acked(now, packet.bytes);
        } else if (packet.in_flight) {
            p.mtu.on_acked(now, packet.number, packet.bytes);
        }
        if (has(packet.control, recovery::Control::ack)) p.acks.on_ack_acknowledged(packet.ack_largest);
        for (std::size_t i = 0; i < packet.range_count; ++i) p.delivered_bytes += packet.ranges[i].length;
        streams_.on_acked(packet);
        watch_.on_acked(packet, streams_);
    }
}

/// Queues the contents of the packet for sending again, on any path.
void Connection::Impl::send_again(const recovery::SentPacket& packet) {
    streams_.on_lost(packet);
    watch_.on_lost(packet);
    if (has(packet.control, recovery::Control::handshake_done)) handshake_done_due_ = true;
    if (has(packet.control, recovery::Control::path_status)) {
        if (PathContext* p = paths_.find(packet.control_path)) p->status_due = true;
    }
    if (has(packet.control, recovery::Control::path_abandon)) abandons_due_.push_back({packet.control_path, 0});
}

void Connection::Impl::take_lost(Instant now, PathContext& p) {
    for (const auto& packet : outcome_.lost) {
        if (packet.mtu_probe) {
            p.mtu.on_probe_lost(now, packet.bytes);
            if (packet.control != recovery::Control::none) send_again(packet);
            continue;
        }
        ++p.lost_packets;
        p.mtu.on_lost(packet.sent, packet.number, packet.bytes, p.recovery.probe_timeout());
        congestion_feedback_.lost.push_back({packet.number, packet.bytes, packet.sent});
        send_again(packet);
    }
}

void Connection::Impl::take_report(Instant now, PathContext& p, const wire::RateFeedbackFrame& report) {
    CongestionFeedback& fb = congestion_feedback_;
    fb.line = p.line_estimator.on_report(now, report, p.line_probes.departures());
    const Duration largest_time = std::chrono::microseconds(report.receive_time_us);
    for (ArrivalSample sample : outcome_.arrivals) {
        sample.delay += largest_time;
        fb.arrivals.push_back(sample);
    }
    if (outcome_.largest_newly_acked) fb.one_way_delay = Instant(largest_time) - outcome_.largest_sent_time;
}

/// Reports to AckPace what happened to this end's acknowledgements.
void Connection::Impl::pace_acks(Instant now, PathContext& p) {
    p.acks.pace().on_fate({.now = now,
                           .sent = outcome_.largest_sent_time,
                           .delay = congestion_feedback_.one_way_delay,
                           .packets = outcome_.quiet_acked,
                           .bytes = outcome_.quiet_bytes,
                           .lost = outcome_.quiet_lost});
}

namespace {

// A pause of the sender stretches one ACK, a narrow return path all of them. So the smaller of two spans counts.
void note_span(PathContext& p, const CongestionFeedback& fb) {
    if (fb.acked_packets > 0) p.ack_interval.add(std::min(fb.acked_span, std::exchange(p.acked_span, fb.acked_span)));
}

Duration ack_spacing(const PathContext& p) {
    return p.ack_interval.sparse() ? from_seconds(p.ack_interval.mean()) : Duration();
}

}  // namespace

/// Holds back from the controller a part of an ACK that stands for many. A loss ends the search for the window, so then
/// everything is reported at once.
void Connection::Impl::keep_back(Instant now, PathContext& p) {
    CongestionFeedback& fb = congestion_feedback_;
    const auto largest = p.recovery.largest_acked();
    if (!largest) return;
    const bool stretched = fb.ack_spacing > Duration::zero() && fb.lost.empty();
    const auto told = p.stretch_acks->on_ack(now, *largest, {fb.acked_bytes, fb.acked_packets}, stretched);
    fb.acked_bytes = told.bytes;
    fb.acked_packets = told.packets;
    if (outcome_.acked.empty()) fb.largest_acked = *largest;  // a timeout reports what was held back
    fb.largest_acked -= std::min<PacketNumber>(fb.largest_acked, p.stretch_acks->kept_back().packets);
}

void Connection::Impl::tell_kept_back(Instant now, PathContext& p) {
    if (!p.stretch_acks || p.stretch_acks->deadline().value_or(Instant::max()) > now) return;
    const auto largest = p.recovery.largest_acked();
    CongestionFeedback fb;
    fb.now = now;
    fb.in_flight_before = p.in_flight();
    const auto told = p.stretch_acks->take_due(now);
    fb.acked_bytes = told.bytes;
    fb.acked_packets = told.packets;
    fb.largest_acked = *largest - std::min<PacketNumber>(*largest, p.stretch_acks->kept_back().packets);
    fb.ack_spacing = ack_spacing(p);
    fb.rtt_sample = p.recovery.rtt().latest();
    describe(p, fb);
    p.congestion->on_feedback(fb);
}

/// Fills in the present state of the path.
void Connection::Impl::describe(const PathContext& p, CongestionFeedback& fb) const {
    fb.largest_sent = p.recovery.next_number() == 0 ? 0 : p.recovery.next_number() - 1;
    fb.in_flight_after = p.in_flight();
    fb.smoothed_rtt = p.recovery.rtt().smoothed();
    fb.rtt_variance = p.recovery.rtt().variance();
    fb.min_rtt = p.recovery.rtt().minimum();
    fb.free_window = streams_.free_window();
}

void Connection::Impl::apply_outcome(Instant now, PathContext& p, bool timeout, const wire::RateFeedbackFrame* report) {
    CongestionFeedback& fb = congestion_feedback_;
    std::vector<CongestionLost> lost = std::move(fb.lost);  // keep the capacity
    std::vector<ArrivalSample> arrivals = std::move(fb.arrivals);
    lost.clear();
    arrivals.clear();
    fb = CongestionFeedback{};
    fb.lost = std::move(lost);
    fb.arrivals = std::move(arrivals);
    fb.now = now;
    const std::uint32_t datagram_bytes = p.mtu.current();
    take_acked(now, p);
    take_lost(now, p);
    if (p.mtu.current() != datagram_bytes) p.tell_datagram_size();
    p.spurious_losses += outcome_.spurious;
    fb.in_flight_before = outcome_.in_flight_before + (p.in_flight() - p.recovery.in_flight());
    fb.acked_bytes = outcome_.acked_bytes;
    fb.acked_packets = outcome_.acked_packets;
    fb.acked_span = outcome_.acked_span;
    if (p.stretch_acks) {
        note_span(p, fb);
        fb.ack_spacing = ack_spacing(p);
        if (!timeout) keep_back(now, p);
    }
    fb.rtt_sample = outcome_.rtt_sample;
    fb.delivery = outcome_.delivery;
    describe(p, fb);
    fb.application_limited = outcome_.delivery && outcome_.delivery->application_limited;
    fb.persistent_timeout = timeout;
    if (report != nullptr) take_report(now, p, *report);
    pace_acks(now, p);
    p.congestion->on_feedback(fb);
    if (outcome_.acked_bytes > 0) p.probes = 0;
}

}  // namespace udtx::proto
