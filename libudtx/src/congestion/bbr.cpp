#include "congestion/bbr.hpp"

#include <algorithm>
#include <cmath>

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
                     .in_flight_before = feedback.in_flight_before,
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
        sample.restrained = newest->restrained;
        sample.application_limited = sample.application_limited || newest->restrained;
    }
    // Loss detection waits 9/8 RTT and a reordering window of up to one RTT.
    packets_.forget(feedback.largest_acked, feedback.now - 3 * feedback.smoothed_rtt);
    return sample;
}

void BbrModel::update(const BbrSample& sample, std::optional<Duration> rtt, bool probing, double window,
                      std::uint64_t aggregation_rounds) {
    update_round(sample);
    update_bandwidth(sample);
    update_bounds(sample, probing, window);
    update_aggregation(sample, window, aggregation_rounds);
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
// lower the bound. The half window of ProbeRTT does not show a slower path, either. Little data of the application
// lowers the bounds as well (section 5.5.10.3).
void BbrModel::update_bounds(const BbrSample& sample, bool probing, double window) {
    const auto total = static_cast<double>(sample.delivered + sample.lost);
    const double loss = total > 0.0 ? std::min(static_cast<double>(sample.lost) / total, kLossThreshold) : 0.0;
    const double asked = std::min(sample.pace, 1.0) * (1.0 - loss);
    bw_latest_ = std::max(bw_latest_, sample.delivery_rate / asked);
    inflight_latest_ = std::max(inflight_latest_, static_cast<double>(sample.delivered) / asked);
    loss_round_start_ = sample.delivered > 0 && sample.prior_delivered >= loss_round_delivered_;
    if (!loss_round_start_) return;
    loss_round_delivered_ = delivered_;
    if (loss_in_round_ && !probing && !sample.restrained) {
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
void BbrModel::update_aggregation(const BbrSample& sample, double window, std::uint64_t rounds) {
    double expected = aggregation_start_ ? bandwidth() * to_seconds(sample.now - *aggregation_start_) : 0.0;
    if (!aggregation_start_ || aggregated_ <= expected) {
        restart_aggregation(sample.now);
        expected = 0.0;
    }
    aggregated_ += static_cast<double>(sample.newly_acked);
    const double extra = std::min(aggregated_ - expected, window);
    while (!extra_acked_.empty() && extra_acked_.back().second <= extra) extra_acked_.pop_back();
    extra_acked_.emplace_back(rounds_, extra);
    while (extra_acked_.front().first + rounds < rounds_) extra_acked_.pop_front();
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

namespace {

constexpr double kInitialSegments = 10.0;
constexpr double kLeastSegments = 4.0;
constexpr double kPacingMargin = 0.99;  // section 5.6.2: slightly below the bandwidth, so that queues drain
constexpr double kFullGrowth = 1.25;    // section 5.3.1.2
constexpr int kFullRounds = 3;
constexpr std::uint32_t kStartupLossRanges = 6;  // section 5.3.1.3
constexpr std::uint64_t kDrainRounds = 3;        // section 5.3.2
constexpr Duration kProbeRttTime = std::chrono::milliseconds(200);
constexpr double kProbeRttGain = 0.5;
constexpr double kBurstSeconds = 250e-6;  // burst of the pacer

}  // namespace

Bbr::Bbr(const CongestionOptions& options)
    : options_(options),
      segment_(std::max(options.datagram_bytes, 1U)),
      random_(options.seed),
      window_(kInitialSegments * segment_) {}

bool Bbr::in_probe_bw() const noexcept {
    return state_ == State::down || state_ == State::cruise || state_ == State::refill || state_ == State::up;
}

bool Bbr::probing() const noexcept {
    return state_ == State::startup || state_ == State::refill || state_ == State::up;
}

double Bbr::pacing_gain() const noexcept {
    switch (state_) {
        case State::startup:
            return 2.77;
        case State::drain:
            return 0.5;
        case State::down:
            return 0.9;
        case State::up:
            return 1.25;
        case State::cruise:
        case State::refill:
        case State::probe_rtt:
            return 1.0;
    }
    return 1.0;
}

double Bbr::window_gain() const noexcept {
    if (state_ == State::up) return 2.25;
    return state_ == State::probe_rtt ? kProbeRttGain : 2.0;
}

double Bbr::least_window() const noexcept { return kLeastSegments * segment_; }

double Bbr::bdp() const noexcept {
    const double bdp = model_.bdp(model_.bandwidth());
    return bdp > 0.0 ? bdp : kInitialSegments * segment_;
}

// Section 5.6.4.2: room for bursts at the ends.
double Bbr::budget(double in_flight) const noexcept {
    const double burst = std::max(kBurstSeconds * pacing_, 2.0 * segment_);
    return std::max({in_flight, 3.0 * burst, least_window()}) + (state_ == State::up ? 2.0 * segment_ : 0.0);
}

void Bbr::on_sent(const CongestionSent& packet) {
    // Section 5.4.1: after an idle period the sender does not catch up. It also skips ProbeRTT, as the idle period
    // itself measured the minimum RTT.
    if (packet.in_flight_before == 0 && ever_sent_) {
        idle_restart_ = true;
        model_.restart_aggregation(packet.now);
        if (in_probe_bw()) pacing_ = kPacingMargin * model_.bandwidth();
        if (state_ == State::probe_rtt && probe_rtt_done_ && packet.now > *probe_rtt_done_) leave_probe_rtt(packet.now);
    }
    ever_sent_ = true;
    const double after = static_cast<double>(packet.in_flight_before + packet.bytes);
    if (after + segment_ > static_cast<double>(window())) limited_this_round_ = true;
    model_.on_sent(packet, pacing_, state_ == State::probe_rtt);
}

void Bbr::on_feedback(const CongestionFeedback& feedback) {
    if (feedback.smoothed_rtt > Duration::zero()) smoothed_rtt_ = feedback.smoothed_rtt;
    if (feedback.persistent_timeout) silent_ = true;
    if (feedback.acked_packets > 0) silent_ = false;
    const BbrSample sample = model_.take(feedback);
    count_loss_ranges(feedback);
    on_losses(feedback);
    if (feedback.acked_packets == 0) return;
    model_.update(sample, feedback.rtt_sample, probing(), window_,
                  full_pipe_ ? BbrModel::kAggregationRounds : BbrModel::kStartupAggregationRounds);
    if (model_.round_start()) {
        limited_last_round_ = limited_this_round_;
        limited_this_round_ = false;
    }
    advance_state(sample);
    model_.finish(sample);
    update_control(sample);
}

void Bbr::count_loss_ranges(const CongestionFeedback& feedback) {
    std::optional<PacketNumber> previous;
    for (const CongestionLost& lost : feedback.lost) {
        if (!previous || lost.number != *previous + 1) ++loss_ranges_;
        previous = lost.number;
    }
}

void Bbr::advance_state(const BbrSample& sample) {
    check_full_pipe(sample);
    check_startup_loss(sample);
    if (state_ == State::startup && full_pipe_) enter_drain();
    if (state_ == State::drain && drained(sample)) start_down(sample.now);
    update_probe_bw(sample);
    check_probe_rtt(sample);
}

void Bbr::reset_full_pipe(double bandwidth) {
    full_bandwidth_ = bandwidth;
    full_count_ = 0;
    full_pipe_now_ = false;
}

void Bbr::check_full_pipe(const BbrSample& sample) {
    if (full_pipe_now_ || !model_.round_start() || sample.application_limited) return;
    if (sample.delivery_rate >= kFullGrowth * full_bandwidth_) {
        reset_full_pipe(sample.delivery_rate);
        return;
    }
    full_pipe_now_ = ++full_count_ >= kFullRounds;
    full_pipe_ = full_pipe_ || full_pipe_now_;
}

// A whole round of Startup with heavy, scattered loss means that the queue is full.
void Bbr::check_startup_loss(const BbrSample& sample) {
    if (!model_.loss_round_start()) return;
    const bool heavy =
        static_cast<double>(sample.lost) > BbrModel::kLossThreshold * static_cast<double>(sample.in_flight_at_send);
    if (state_ == State::startup && !full_pipe_ && loss_ranges_ >= kStartupLossRanges && heavy) {
        full_pipe_ = true;
        inflight_long_term_ = std::max(bdp(), model_.inflight_latest());
    }
    loss_ranges_ = 0;
}

void Bbr::enter_startup() { state_ = State::startup; }

void Bbr::enter_drain() {
    state_ = State::drain;
    drain_round_ = model_.rounds();
}

// Other flows may have let Startup overestimate the bandwidth. Then the queue stays, and only the next probes, after
// kDrainRounds, correct the estimate.
bool Bbr::drained(const BbrSample& sample) const noexcept {
    return static_cast<double>(sample.in_flight) <= budget(model_.bdp(model_.max_bandwidth())) ||
           model_.rounds() > drain_round_ + kDrainRounds;
}

// --- ProbeRTT (section 5.3.4)

double Bbr::probe_rtt_window() const noexcept { return std::max(kProbeRttGain * bdp(), least_window()); }

void Bbr::check_probe_rtt(const BbrSample& sample) {
    if (state_ != State::probe_rtt && model_.probe_rtt_due() && !idle_restart_) {
        state_ = State::probe_rtt;
        prior_window_ = window_;
        probe_rtt_done_.reset();
        ack_phase_ = AckPhase::probe_stopping;
        model_.start_round();
    }
    if (state_ == State::probe_rtt) hold_probe_rtt(sample);
    if (sample.delivered > 0) idle_restart_ = false;
}

void Bbr::hold_probe_rtt(const BbrSample& sample) {
    if (!probe_rtt_done_) {
        if (static_cast<double>(sample.in_flight) > probe_rtt_window()) return;
        probe_rtt_done_ = sample.now + kProbeRttTime;
        probe_rtt_round_done_ = false;
        model_.start_round();
        return;
    }
    if (model_.round_start()) probe_rtt_round_done_ = true;
    if (probe_rtt_round_done_ && sample.now > *probe_rtt_done_) leave_probe_rtt(sample.now);
}

void Bbr::leave_probe_rtt(Instant now) {
    model_.renew_probe_rtt(now);
    window_ = std::max(window_, prior_window_);
    model_.reset_short_term();
    if (!full_pipe_) {
        enter_startup();
        return;
    }
    start_down(now);
    start_cruise();
}

// --- Rate and window (section 5.6)

void Bbr::update_control(const BbrSample& sample) {
    double bandwidth = model_.bandwidth();
    if (bandwidth <= 0.0 && smoothed_rtt_ > Duration::zero()) bandwidth = window_ / to_seconds(smoothed_rtt_);
    const double rate = kPacingMargin * pacing_gain() * bandwidth;
    if (full_pipe_ || rate > pacing_) pacing_ = rate;
    set_window(sample);
}

void Bbr::set_window(const BbrSample& sample) {
    const double most = budget(window_gain() * bdp() + model_.extra_acked());
    const auto acked = static_cast<double>(sample.newly_acked);
    if (full_pipe_) {
        window_ = std::min(window_ + acked, most);
    } else if (window_ < most || static_cast<double>(model_.delivered()) < kInitialSegments * segment_) {
        window_ += acked;
    }
    window_ = std::max(window_, least_window());
    if (state_ == State::probe_rtt) window_ = std::min(window_, probe_rtt_window());
    bound_window();
}

void Bbr::bound_window() {
    double cap = static_cast<double>(options_.max_window);
    if (state_ == State::down || state_ == State::refill || state_ == State::up) {
        cap = std::min(cap, inflight_long_term_);
    } else if (state_ == State::cruise || state_ == State::probe_rtt) {
        cap = std::min(cap, inflight_with_headroom());
    }
    cap = std::max(std::min(cap, model_.inflight_short_term()), least_window());
    window_ = std::min(window_, cap);
}

void Bbr::on_limits(const PathLimits& limits) { segment_ = limits.datagram_bytes; }

std::uint64_t Bbr::window() const { return static_cast<std::uint64_t>(silent_ ? least_window() : window_); }

Rate Bbr::pacing_rate() const { return pacing_ > 0.0 ? Rate::bytes_per_second(pacing_) : Rate::infinite(); }

CongestionReport Bbr::report() const {
    CongestionReport report;
    report.slow_start = state_ == State::startup;
    report.mtr = Rate::bytes_per_second(model_.max_bandwidth());
    const Rate sending = pacing_rate();
    report.available = sending < report.mtr ? report.mtr - sending : Rate();
    return report;
}

// ProbeBW: DOWN, CRUISE, REFILL, UP, and the long-term bound that losses during probing set (draft-ietf-ccwg-bbr,
// sections 5.3.3 and 5.5.10.2).

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
    prev_probe_too_high_ = true;
    probe_samples_ = false;  // once per probe
    if (!application_limited) inflight_long_term_ = std::max(in_flight, BbrModel::kBeta * target_inflight());
    if (state_ == State::up) start_down(now);
}

// --- The long-term bound

bool Bbr::adapt_long_term(const BbrSample& sample) {
    if (model_.round_start()) {
        if (ack_phase_ == AckPhase::probe_starting) {
            ack_phase_ = AckPhase::probe_feedback;
        } else if (ack_phase_ == AckPhase::probe_stopping) {
            ack_phase_ = AckPhase::none;
            probe_samples_ = false;
            if (in_probe_bw() && !sample.application_limited) model_.advance_bandwidth_filter();
            // Section 5.3.3.6: the long-term bound proved safe, so a full probe follows at once.
            if (in_probe_bw() && prev_probe_cautious_ && !prev_probe_too_high_) {
                start_refill();
                return true;
            }
        }
    }
    const auto in_flight = static_cast<double>(sample.in_flight_at_send);
    if (static_cast<double>(sample.lost) > BbrModel::kLossThreshold * in_flight) return false;
    if (inflight_long_term_ == BbrModel::kUnlimited) return false;
    inflight_long_term_ = std::max(inflight_long_term_, in_flight);
    if (state_ == State::up) raise_long_term(sample);
    return false;
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
    if (!full_pipe_ || adapt_long_term(sample)) return;
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
            if (time_to_go_down(sample)) {
                prev_probe_too_high_ = false;  // not yet: packets of this probe are still in flight
                start_down(sample.now);
            }
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
    prev_probe_cautious_ = false;
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

// An ACK covers a SYN, so what was in flight before it counts. A window at the bound may end within a packet.
bool Bbr::reaches_long_term(const BbrSample& sample) const noexcept {
    return static_cast<double>(sample.in_flight_before) + segment_ > inflight_long_term_;
}

bool Bbr::time_to_go_down(const BbrSample& sample) {
    // Section 5.3.3.6: a round at the bound risks a full queue all that time. After a probe with too many losses, the
    // next one only reaches the bound.
    if (prev_probe_too_high_ && reaches_long_term(sample)) {
        prev_probe_cautious_ = true;
        return true;
    }
    if (window_limited() && window_ >= inflight_long_term_) {
        reset_full_pipe(sample.delivery_rate);
        return false;
    }
    return full_pipe_now_;
}

}  // namespace udtx::congestion
