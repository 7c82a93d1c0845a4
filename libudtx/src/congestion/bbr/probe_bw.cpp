// ProbeBW: DOWN, CRUISE, REFILL, UP, and the long-term bound that losses during probing set (draft-ietf-ccwg-bbr,
// sections 5.3.3 and 5.5.10.2).
#include <algorithm>
#include <cmath>

#include "congestion/bbr/bbr.hpp"

namespace udtx::congestion {

namespace {

constexpr double kHeadroom = 0.15;
constexpr int kMaxUpRounds = 30;
constexpr double kMaxRenoRounds = 63.0;
constexpr Duration kProbeWait = std::chrono::seconds(2);
constexpr double kProbeWaitSpread = 1.0;  // seconds

}  // namespace

double Bbr::target_inflight() const noexcept { return std::min(bdp(), window_); }

// Leaves room for flows that may have started since.
double Bbr::inflight_with_headroom() const noexcept {
    if (inflight_long_term_ == BbrModel::kUnlimited) return BbrModel::kUnlimited;
    const double headroom = std::max(segment_, kHeadroom * inflight_long_term_);
    return std::max(inflight_long_term_ - headroom, least_window());
}

// --- Losses

// Handles packet by packet: at one lost packet, those behind it in the same report do not count as lost yet.
void Bbr::on_losses(const CongestionFeedback& feedback) {
    std::uint64_t behind = 0;
    for (const CongestionLost& lost : feedback.lost) behind += lost.bytes;
    for (const CongestionLost& lost : feedback.lost) {
        behind -= lost.bytes;
        on_lost_packet(feedback, lost, model_.lost() - behind);
    }
}

void Bbr::on_lost_packet(const CongestionFeedback& feedback, const CongestionLost& lost, std::uint64_t lost_so_far) {
    model_.note_loss();
    if (!probe_samples_) return;
    const BbrPacket* sent = model_.find(lost.number);
    if (sent == nullptr) return;
    const auto in_flight = static_cast<double>(sent->in_flight);
    const auto lost_since = static_cast<double>(lost_so_far - sent->lost);
    if (lost_since <= BbrModel::kLossThreshold * in_flight) return;
    // The bytes in flight at which losses passed the threshold: a point within this packet.
    const double size = lost.bytes;
    const double prefix =
        (BbrModel::kLossThreshold * (in_flight - size) - (lost_since - size)) / (1.0 - BbrModel::kLossThreshold);
    on_inflight_too_high(feedback.now, std::max(in_flight - size + std::min(prefix, size), 0.0),
                         feedback.application_limited);
}

void Bbr::on_inflight_too_high(Instant now, double in_flight, bool application_limited) {
    probe_samples_ = false;  // once per probe
    if (!application_limited) inflight_long_term_ = std::max(in_flight, BbrModel::kBeta * target_inflight());
    if (state_ == State::up) start_down(now);
}

// --- The long-term bound

void Bbr::adapt_long_term(const BbrSample& sample) {
    if (model_.round_start()) {
        if (ack_phase_ == AckPhase::probe_starting) {
            ack_phase_ = AckPhase::probe_feedback;
        } else if (ack_phase_ == AckPhase::probe_stopping) {
            ack_phase_ = AckPhase::none;
            probe_samples_ = false;
            if (in_probe_bw() && !sample.application_limited) model_.advance_bandwidth_filter();
        }
    }
    const auto in_flight = static_cast<double>(sample.in_flight_at_send);
    if (static_cast<double>(sample.lost) > BbrModel::kLossThreshold * in_flight) return;
    if (inflight_long_term_ == BbrModel::kUnlimited) return;
    inflight_long_term_ = std::max(inflight_long_term_, in_flight);
    if (state_ == State::up) raise_long_term(sample);
}

// Each round in UP doubles the growth: 1, 2, 4 ... segments per round.
void Bbr::raise_slope() {
    const double growth = segment_ * std::exp2(up_rounds_);
    up_rounds_ = std::min(up_rounds_ + 1, kMaxUpRounds);
    up_step_ = std::max(window_ / growth, 1.0) * segment_;
}

void Bbr::raise_long_term(const BbrSample& sample) {
    if (!window_limited() || window_ < inflight_long_term_) return;
    up_acked_ += static_cast<double>(sample.newly_acked);
    if (up_acked_ >= up_step_) {
        const double steps = std::floor(up_acked_ / up_step_);
        up_acked_ -= steps * up_step_;
        inflight_long_term_ += steps * segment_;
    }
    if (model_.round_start()) raise_slope();
}

// --- The cycle

void Bbr::update_probe_bw(const BbrSample& sample) {
    if (!full_pipe_) return;
    adapt_long_term(sample);
    switch (state_) {
        case State::down:
            if (time_to_probe(sample.now)) {
                start_refill();
            } else if (time_to_cruise(sample)) {
                start_cruise();
            }
            break;
        case State::cruise:
            if (time_to_probe(sample.now)) start_refill();
            break;
        case State::refill:
            // One round fills the pipe, so that UP then measures the queue.
            if (model_.round_start()) {
                probe_samples_ = true;
                start_up(sample);
            }
            break;
        case State::up:
            if (time_to_go_down(sample)) start_down(sample.now);
            break;
        case State::startup:
        case State::drain:
        case State::probe_rtt:
            break;
    }
}

void Bbr::start_down(Instant now) {
    state_ = State::down;
    model_.reset_signals();
    up_step_ = BbrModel::kUnlimited;
    rounds_at_probe_ = model_.rounds() - (random_.next() & 1U);
    probe_wait_ = kProbeWait + from_seconds(kProbeWaitSpread * random_.fraction());
    cycle_start_ = now;
    ack_phase_ = AckPhase::probe_stopping;
    model_.start_round();
}

void Bbr::start_cruise() { state_ = State::cruise; }

void Bbr::start_refill() {
    state_ = State::refill;
    model_.reset_short_term();
    up_rounds_ = 0;
    up_acked_ = 0.0;
    ack_phase_ = AckPhase::refilling;
    model_.start_round();
}

void Bbr::start_up(const BbrSample& sample) {
    state_ = State::up;
    ack_phase_ = AckPhase::probe_starting;
    model_.start_round();
    reset_full_pipe(sample.delivery_rate);
    raise_slope();
}

// Probes after two to three seconds, or after as many rounds as Reno would need to regain the same bandwidth.
bool Bbr::time_to_probe(Instant now) {
    if (now - cycle_start_ > probe_wait_) return true;
    const double rounds = std::min(target_inflight() / segment_, kMaxRenoRounds);
    return static_cast<double>(model_.rounds() - rounds_at_probe_) >= rounds;
}

bool Bbr::time_to_cruise(const BbrSample& sample) const {
    const auto in_flight = static_cast<double>(sample.in_flight);
    return in_flight <= inflight_with_headroom() && in_flight <= budget(model_.bdp(model_.max_bandwidth()));
}

bool Bbr::time_to_go_down(const BbrSample& sample) {
    if (window_limited() && window_ >= inflight_long_term_) {
        reset_full_pipe(sample.delivery_rate);
        return false;
    }
    return full_pipe_now_;
}

}  // namespace udtx::congestion
