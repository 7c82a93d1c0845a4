#include "congestion/bbr/model.hpp"

#include <algorithm>

namespace udtx::congestion {

void BbrModel::on_sent(const CongestionSent& packet, double pacing, bool restrained) {
    // The mark lasts until all now in flight is acknowledged: packets sent right after ProbeRTT still measure its low
    // rate.
    if (restrained) restrained_until_ = delivered_ + packet.in_flight_before + packet.bytes;
    packets_.on_sent({.number = packet.number,
                      .sent = packet.now,
                      .delivered = delivered_,
                      .lost = lost_,
                      .in_flight = packet.in_flight_before + packet.bytes,
                      .pace = bandwidth() > 0.0 ? pacing / bandwidth() : 1.0,
                      .restrained = delivered_ < restrained_until_});
}

BbrSample BbrModel::take(const CongestionFeedback& feedback) {
    delivered_ += feedback.acked_bytes;
    BbrSample sample{.now = feedback.now,
                     .newly_acked = feedback.acked_bytes,
                     .in_flight = feedback.in_flight_after,
                     .application_limited = feedback.application_limited};
    if (feedback.delivery) sample.delivery_rate = feedback.delivery->rate.bytes_per_second();
    for (const CongestionLost& packet : feedback.lost) lost_ += packet.bytes;
    if (feedback.acked_packets == 0) return sample;
    if (const BbrPacket* newest = packets_.find(feedback.largest_acked)) {
        sample.prior_delivered = newest->delivered;
        sample.delivered = delivered_ - newest->delivered;
        sample.in_flight_at_send = newest->in_flight;
        sample.lost = lost_ - newest->lost;
        sample.pace = newest->pace;
        sample.application_limited = sample.application_limited || newest->restrained;
    }
    // Loss detection waits 9/8 RTT and a reordering window of up to one RTT.
    packets_.forget(feedback.largest_acked, feedback.now - 3 * feedback.smoothed_rtt);
    return sample;
}

void BbrModel::update(const BbrSample& sample, std::optional<Duration> rtt, bool probing, double window) {
    update_round(sample);
    update_bandwidth(sample);
    update_bounds(sample, probing, window);
    update_aggregation(sample, window);
    update_min_rtt(sample.now, rtt);
}

void BbrModel::update_round(const BbrSample& sample) {
    round_start_ = sample.delivered > 0 && sample.prior_delivered >= next_round_delivered_;
    if (!round_start_) return;
    start_round();
    ++rounds_;
}

// A sample limited by the application gives only a lower bound of the bandwidth.
void BbrModel::update_bandwidth(const BbrSample& sample) {
    if (sample.delivery_rate <= 0.0) return;
    if (sample.application_limited && sample.delivery_rate < max_bandwidth()) return;
    bandwidth_[1] = std::max(bandwidth_[1], sample.delivery_rate);
}

void BbrModel::advance_bandwidth_filter() noexcept {
    if (bandwidth_[1] <= 0.0) return;
    bandwidth_[0] = bandwidth_[1];
    bandwidth_[1] = 0.0;
}

double BbrModel::max_bandwidth() const noexcept { return std::max(bandwidth_[0], bandwidth_[1]); }

double BbrModel::bandwidth() const noexcept { return std::min(max_bandwidth(), bw_short_term_); }

void BbrModel::note_loss() {
    if (!loss_in_round_) loss_round_delivered_ = delivered_;
    loss_in_round_ = true;
}

void BbrModel::reset_signals() noexcept {
    loss_in_round_ = false;
    bw_latest_ = 0.0;
    inflight_latest_ = 0.0;
}

// Runs once per round with losses, outside of probing. A bound falls at most to what was just delivered, and at most to
// beta of its old value. What was delivered is divided by what was asked for. A pace below the bandwidth (DOWN, the
// margin of 1 %) or loss below the threshold does not show a slower path. Without the division, each lossy round would
// lower the bound.
void BbrModel::update_bounds(const BbrSample& sample, bool probing, double window) {
    const auto total = static_cast<double>(sample.delivered + sample.lost);
    const double loss = total > 0.0 ? std::min(static_cast<double>(sample.lost) / total, kLossThreshold) : 0.0;
    const double asked = std::min(sample.pace, 1.0) * (1.0 - loss);
    bw_latest_ = std::max(bw_latest_, sample.delivery_rate / asked);
    inflight_latest_ = std::max(inflight_latest_, static_cast<double>(sample.delivered) / asked);
    loss_round_start_ = sample.delivered > 0 && sample.prior_delivered >= loss_round_delivered_;
    if (!loss_round_start_) return;
    loss_round_delivered_ = delivered_;
    if (loss_in_round_ && !probing && !sample.application_limited) {
        if (bw_short_term_ == kUnlimited) bw_short_term_ = max_bandwidth();
        if (inflight_short_term_ == kUnlimited) inflight_short_term_ = window;
        bw_short_term_ = std::clamp(bw_latest_, kBeta * bw_short_term_, bw_short_term_);
        inflight_short_term_ = std::max(inflight_latest_ + extra_acked(), kBeta * inflight_short_term_);
    }
    loss_in_round_ = false;
}

void BbrModel::finish(const BbrSample& sample) {
    if (!loss_round_start_) return;
    bw_latest_ = sample.delivery_rate;
    inflight_latest_ = static_cast<double>(sample.delivered);
}

// Section 5.5.9: bytes acknowledged at once beyond what the bandwidth explains; an ACK here covers a SYN.
void BbrModel::update_aggregation(const BbrSample& sample, double window) {
    double expected = aggregation_start_ ? bandwidth() * to_seconds(sample.now - *aggregation_start_) : 0.0;
    if (!aggregation_start_ || aggregated_ <= expected) {
        restart_aggregation(sample.now);
        expected = 0.0;
    }
    aggregated_ += static_cast<double>(sample.newly_acked);
    const double extra = std::min(aggregated_ - expected, window);
    while (!extra_acked_.empty() && extra_acked_.back().second <= extra) extra_acked_.pop_back();
    extra_acked_.emplace_back(rounds_, extra);
    while (extra_acked_.front().first + kExtraAckedRounds < rounds_) extra_acked_.pop_front();
}

void BbrModel::restart_aggregation(Instant now) noexcept {
    aggregation_start_ = now;
    aggregated_ = 0.0;
}

double BbrModel::extra_acked() const noexcept { return extra_acked_.empty() ? 0.0 : extra_acked_.front().second; }

void BbrModel::update_min_rtt(Instant now, std::optional<Duration> rtt) {
    probe_rtt_due_ = probe_rtt_min_ && now > probe_rtt_stamp_ + kProbeRttInterval;
    if (rtt && (!probe_rtt_min_ || *rtt < *probe_rtt_min_ || probe_rtt_due_)) {
        probe_rtt_min_ = rtt;
        probe_rtt_stamp_ = now;
    }
    const bool expired = min_rtt_ && now > min_rtt_stamp_ + kMinRttWindow;
    if (probe_rtt_min_ && (!min_rtt_ || *probe_rtt_min_ < *min_rtt_ || expired)) {
        min_rtt_ = probe_rtt_min_;
        min_rtt_stamp_ = probe_rtt_stamp_;
    }
}

double BbrModel::bdp(double bandwidth) const noexcept { return min_rtt_ ? bandwidth * to_seconds(*min_rtt_) : 0.0; }

}  // namespace udtx::congestion
