#include "congestion/udtx/udtx.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace udtx::congestion {

namespace {

// q_h, the delay that halves the share
constexpr double kHalfDelayPackets = 3.0;  // Lp, at least
constexpr double kMinHalfDelay = 1e-3;     // s, at least
constexpr double kHalvesPerBuffer = 5.0;   // at most a fifth of the full buffer: room for 16 flows without loss

// The share
constexpr double kLate = 1.5e-3;         // s of queue of a flow alone: time by which threads of a busy host are late
constexpr double kLatePerBuffer = 0.25;  // of the full buffer, bound of kLate
constexpr double kMoreRest = 0.38;       // of q_h, most that a flow alone adds to kRest
constexpr double kNearlyAlone = 0.6;     // of C: the addition grows from this rate to C
constexpr double kMaxStep = 0.2;         // of the distance to the target, per feedback

// The start
constexpr double kInitialPackets = 18.0;

// The lowest rate: enough packets to measure the path
constexpr double kLeastPackets = 4.0;  // per round trip
constexpr double kLeastTime = 0.1;     // s, if longer: on a slow short path more would fill the queue

// s that a thread waits for its turn, a slice of the scheduler; used if the hosts are slower than the link
constexpr double kEndsLate = 3e-3;

constexpr double kBeyond = 1.25;  // of the highest delivery rate: bound of x

// Paths that are rough, or whose trains differ
constexpr double kRoughBeta = 0.25;     // of the distance to the target, in one loop time
constexpr double kNoneBeyond = 0.02;    // congestion loss at which x is no more than what arrives
constexpr double kMoreFound = 1.12;     // of what the last search found: there is more, so it starts again
constexpr double kSearchGain = 2.0;     // of the delivery rate
constexpr double kSearchGrowth = 1.25;  // of the delivery rate, at least (BBR, draft-ietf-ccwg-bbr, section 5.3.1.2)
constexpr double kSearchRounds = 3.0;   // without it
constexpr double kSearchQueue = 2.0;    // q_h: such a queue ends the search
constexpr double kShort = 0.25;         // of q_h: if trains differ, a shorter queue shows a free link

constexpr double kHold = 2.0;  // RTTs in which a flow ignores the queue that it made itself by a start or a search

// Losses
constexpr double kOverflow = 0.002;  // congestion loss from which on the highest delays are those of a full buffer
constexpr double kFillLoss = 0.04;   // congestion loss at which a link counts as full without a queue
constexpr double kLeastFull = 2.0;   // of the least q_h: longer than the delay of timers, so it is a buffer
constexpr Duration kAllCongestion = std::chrono::seconds(20);  // after a trial that found congestion

// ACKs
constexpr double kAckPackets = 64.0;   // recovery::AckTracker::kPacketsPerAck
constexpr double kUsualHold = 1.2;     // usual intervals between ACKs
constexpr double kSparseHold = 2.0;    // intervals: one of the few ACKs may be lost
constexpr double kPush = 0.02;         // per round trip, beyond the believed link rate
constexpr double kSparsePush = 0.005;  // the same, if sparse ACKs report the new queue late

}  // namespace

Udtx::Udtx(const CongestionOptions& options, UdtxParts parts)
    : options_(options),
      parts_(parts),
      datagram_bytes_(std::max(options.datagram_bytes, 1U)),
      blind_window_(kInitialPackets * datagram_bytes_) {}

double Udtx::packet_time() const { return mtr_.known() ? datagram_bytes_ / mtr_.mtr() : 0.0; }

double Udtx::least_half_delay() const { return std::max(kMinHalfDelay, kHalfDelayPackets * packet_time()); }

// Delay of the full buffer, if it is large enough for control by delay alone.
std::optional<double> Udtx::roomy_buffer() const {
    const auto full = delay_.full();
    return full && *full > kHalvesPerBuffer * least_half_delay() ? full : std::nullopt;
}

// Whether the buffer is so small that many `udtx` flows, too, keep it full. A full queue then shows no competing flows.
bool Udtx::shallow() const {
    const auto full = delay_.full();
    return has(UdtxPart::shallow) && full && *full < kHalvesPerBuffer * UdtxShare::half_delay(delay_.base_rtt());
}

double Udtx::half_delay() const {
    double half = UdtxShare::half_delay(delay_.base_rtt());
    // A shallow buffer needs room for the queue of many flows. Otherwise losses would have to share the link.
    if (const auto full = delay_.full()) half = std::min(half, *full / kHalvesPerBuffer);
    return std::max(half, least_half_delay());
}

double Udtx::capacity() const {
    // Jitter makes lost packets look like those of a full queue and the reverse, so losses tell nothing, either.
    if (roughness_.rough() && phase_ != Phase::ramp) return std::max(mtr_.seen(), roughness_.delivered());
    return mtr_.mtr() / (1.0 - std::min(loss_.random(), kMaxThinning));
}

// A flow alone keeps a longer queue. It grows by less than log2(C'/x) falls, so that q_eq still falls with x.
double Udtx::rest() const {
    if (!alone() || !has(UdtxPart::rest)) return kRest;
    double late = kLate;
    if (const auto full = delay_.full()) late = std::min(late, kLatePerBuffer * *full);
    const double most = std::clamp(late / half_delay() - kRest, 0.0, kMoreRest);
    const double share = (rate_ / std::max(capacity(), 1.0) - kNearlyAlone) / (1.0 - kNearlyAlone);
    return kRest + most * std::clamp(share, 0.0, 1.0);
}

double Udtx::equilibrium_delay() const {
    return half_delay() * (rest() + std::log2(std::max(1.0, capacity() / std::max(rate_, 1.0))));
}

void Udtx::on_sent(const CongestionSent& packet) {
    sent_ = packet.now;
    if (drain_until_ && packet.now >= *drain_until_) end_drain(packet.now);
}

void Udtx::on_feedback(const CongestionFeedback& feedback) {
    acks_.on_feedback(feedback);
    const double longest = std::max(0.1, kSparseHold * acks_.mean());
    const double dt = updated_ ? std::clamp(to_seconds(feedback.now - *updated_), 0.0, longest) : 0.0;
    updated_ = feedback.now;
    mtr_.on_feedback(feedback, has(UdtxPart::tiers) ? degree_ : 0.0,
                     roughness_.doubtful() ? UdtxMtr::Told::least : UdtxMtr::Told::line);
    if (has(UdtxPart::jitter))
        roughness_.on_feedback(feedback, delay_.base_rtt(),
                               std::max(UdtxShare::half_delay(delay_.base_rtt()), least_half_delay()));
    if (!roughness_.doubtful()) found_ = 0.0;
    // A queue that overflows or is far too long does not empty, so the base must outlive its time.
    delay_.hold_base(has(UdtxPart::hold_base) &&
                     (compete_.active() || overrun_since_ || loss_.congestion() > kOverflow));
    delay_.on_feedback(feedback, packet_time(), roughness_);
    count_packets(feedback);
    degree_ = std::min(1.0, delay_.queue() / (5.0 * half_delay()));
    if (feedback.persistent_timeout && phase_ != Phase::blind) {
        rate_ = std::min(rate_, mtr_.mtr() / 8.0);
        phase_ = Phase::ramp;
        first_ramp_ = false;
        compete_.leave();
        forget_drains();
        trial_.abandon();
        at_line_since_.reset();
        shared_since_.reset();
    }
    switch (phase_) {
        case Phase::blind:
            grope(feedback);
            break;
        case Phase::ramp:
            ramp(feedback, dt);
            break;
        case Phase::search:
            search(feedback);
            break;
        case Phase::steady:
            consider_trial(feedback);
            consider_competing(feedback);
            consider_drain(feedback);
            if (!compete_.active() && !drain_until_ && feedback.now >= frozen_until_) steer(feedback, dt);
            if (feedback.now < hold_until_ && shared_since_ && has(UdtxPart::sole)) reconsider_sharing(feedback);
            break;
    }
    if (phase_ != Phase::blind) bound_rate(feedback);
}

void Udtx::count_packets(const CongestionFeedback& feedback) {
    if (!delay_.known()) return;
    const double high_from = delay_.long_queue(packet_time());
    UdtxLoss::Counts counts = UdtxLoss::count(feedback, delay_, high_from);
    if (mtr_.open() && has(UdtxPart::ends)) ends_.on_feedback(feedback, counts);
    const bool all_congestion = feedback.now < all_congestion_until_;  // every loss is congestion, at any delay
    if (all_congestion) counts = {.high = counts.high + counts.low, .high_lost = counts.high_lost + counts.low_lost};
    for (const CongestionLost& lost : feedback.lost) {
        const double queue = delay_.queue_around(lost.number);
        delay_.note_lost(feedback.now, queue);
        if ((all_congestion || queue >= high_from) && loss_.congestion() > kOverflow)
            delay_.note_full(feedback.now, queue);
    }
    if (all_congestion) loss_.assume_random(remaining_loss_);
    congestion_losses_ = static_cast<std::uint32_t>(counts.high_lost);
    loss_.on_feedback(feedback.now, counts, delay_.base_rtt());
}

void Udtx::consider_trial(const CongestionFeedback& feedback) {
    if (delay_.queue() > half_delay()) mtr_.unlimit();  // with a visible queue, delay controls the rate again
    if (compete_.active() || drain_until_ || !has(UdtxPart::trial)) return;
    double loss = loss_.random();
    // Jitter makes losses look random. Only so many show that x, and not the path, causes them.
    if (roughness_.rough()) loss = loss_.total() > kHeavyLoss ? loss_.total() : 0.0;
    const auto verdict = trial_.on_feedback(feedback, loss, delay_.base_rtt() + delay_.queue());
    if (verdict == UdtxTrial::Verdict::congestion) {
        remaining_loss_ = trial_.remaining();
        loss_.restart();
        if (mtr_.delivered() > 0.0) mtr_.limit(mtr_.delivered());
        if (has(UdtxPart::all_congestion)) all_congestion_until_ = feedback.now + kAllCongestion;
    } else if (feedback.now < all_congestion_until_ && loss_.congestion() > kOverflow) {
        all_congestion_until_ = std::max(all_congestion_until_, feedback.now + kAllCongestion / 4);
    }
    // The delay of a buffer that was full at the start shows when the base has fallen.
    const double lost_at = delay_.lost_at(feedback.now, share_.mean_queue());
    if (feedback.now < all_congestion_until_ && !delay_.full() && lost_at > kLeastFull * least_half_delay())
        delay_.note_full(feedback.now, lost_at);
}

// x += beta (x* - x) is D-AIMD: an additive term that falls with congestion, beta C K^(-CD), and a multiplicative one,
// beta x.
void Udtx::steer(const CongestionFeedback& feedback, double dt) {
    const double own = equilibrium_delay();
    const double half = half_delay();
    share_.update({.dt = dt,
                   .rtt = delay_.base_rtt(),
                   .interval = ack_interval(),
                   .queue = delay_.smoothed(),
                   .base = delay_.base(),
                   .half_delay = half,
                   .loss = has(UdtxPart::loss) ? loss_.congestion() : 0.0,
                   .two_speeds = has(UdtxPart::two_speeds),
                   .full = feedback.now < all_congestion_until_ ? std::nullopt : roomy_buffer()});
    const bool free = roughness_.rough() || (roughness_.doubtful() && delay_.queue() < kShort * half);
    if (free && !feedback.application_limited && roughness_.delivered() > kMoreFound * found_) {
        phase_ = Phase::search;
        found_ = roughness_.delivered();
        found_since_ = feedback.now;
        return;
    }
    if (roughness_.rough()) {
        steer_rough(feedback, dt);
        return;
    }
    const double target = capacity() * std::min(std::exp2(rest()) * share_.share(), kMaxShare);
    const double loop_time = delay_.base_rtt() + ack_interval();
    if (target < rate_ && feedback.now < hold_until_ && delay_.queue() > own + 0.5 * half) return;
    rate_ += std::min(kMaxStep, share_.beta() * dt / loop_time) * (target - rate_);
    fill(feedback, dt);
}

// Single delays and losses tell little here: x follows the mean queue, bounded by what arrives. In a buffer that is
// shorter than the jitter no queue shows. Then x would stay above what arrives, until a trial finds the loss.
void Udtx::steer_rough(const CongestionFeedback& feedback, double dt) {
    if (feedback.application_limited) return;
    const double delivered = roughness_.delivered();
    const double share = std::exp2(std::min(0.0, rest() - delay_.queue() / half_delay()));
    const double loss = feedback.now < all_congestion_until_ ? loss_.congestion() : 0.0;
    const double beyond = 1.0 + (kBeyond - 1.0) * std::max(0.0, 1.0 - loss / kNoneBeyond);
    const double target = std::min(capacity() * share, beyond * delivered);
    rate_ += std::min(kMaxStep, kRoughBeta * dt / (delay_.base_rtt() + ack_interval())) * (target - rate_);
}

// Doubles x until deliveries grow no more (as the Startup of BBR), or a queue forms.
void Udtx::search(const CongestionFeedback& feedback) {
    const double delivered = roughness_.delivered();
    if (delivered > kSearchGrowth * found_) {
        found_ = delivered;
        found_since_ = feedback.now;
    }
    const double round = std::max(delay_.base_rtt(), kLeastTime) + delay_.base_rtt();
    const bool queue = delay_.queue() > kSearchQueue * half_delay();
    const bool lasts = to_seconds(feedback.now - found_since_) <= kSearchRounds * round;
    // Deliveries of an application with too little data say nothing about the link.
    if (roughness_.doubtful() && !feedback.application_limited && !queue && lasts) {
        rate_ = std::max(rate_, kSearchGain * delivered);
        return;
    }
    if (!feedback.application_limited) rate_ = std::min(rate_, delivered);
    if (queue && has(UdtxPart::hold))
        hold_until_ = feedback.now + from_seconds(kHold * (delay_.base_rtt() + delay_.queue()));
    found_ = delivered;
    phase_ = Phase::steady;
    last_low_ = feedback.now;
}

// An empty queue means that no flow uses the rest of the link.
void Udtx::fill(const CongestionFeedback& feedback, double dt) {
    if (!has(UdtxPart::fill)) return;
    const double rtt = delay_.base_rtt();
    const double queue = delay_.queue();
    // If trains differ, C and losses do not tell that the link is full.
    const bool wanted = roughness_.doubtful() ? queue >= kShort * half_delay()
                                              : queue >= 0.5 * kRest * half_delay() || loss_.congestion() > kFillLoss;
    if (wanted || feedback.application_limited) {
        low_ = false;
        return;
    }
    if (!low_) {
        low_ = true;
        low_since_ = feedback.now;
        gain_ = 0.05;
    }
    if (to_seconds(feedback.now - low_since_) <= 1.2 * rtt + to_seconds(kSynInterval)) return;
    gain_ = rate_ < capacity() ? std::min(0.25, gain_ * std::exp(dt / (4.0 * rtt))) : push();
    rate_ *= std::pow(1.0 + gain_, dt / rtt);
}

void Udtx::bound_rate(const CongestionFeedback& feedback) {
    if (compete_.active()) return;
    bound_by_path(feedback);
    rate_ = std::max(rate_, kLeastPackets * datagram_bytes_ / std::max(delay_.base_rtt(), kLeastTime));
}

void Udtx::bound_by_path(const CongestionFeedback& feedback) {
    if (phase_ == Phase::search) return;
    rate_ = std::min(rate_, kMaxShare * capacity());
    if (roughness_.rough() && phase_ == Phase::steady) return;
    // Heavy loss without delay comes from a policer, or from a queue that was full when the base was measured. Loss
    // that a trial found random does not count, and neither do losses of the flow's own start.
    if (const double over = loss_.total() / kHeavyLoss;
        has(UdtxPart::heavy_loss) && over > 1.0 && loss_.total() > trial_.borne() && feedback.now > hold_until_)
        rate_ = std::min(rate_, mtr_.mtr() / (over * over));
    if (phase_ == Phase::steady && feedback.now > hold_until_ && !feedback.application_limited && has(UdtxPart::cap) &&
        mtr_.delivered() > 0.0)
        rate_ = std::min(rate_, kBeyond * mtr_.delivered() / (1.0 - std::min(loss_.random(), kMaxThinning)));
}

void Udtx::on_limits(const PathLimits& limits) {
    datagram_bytes_ = limits.datagram_bytes;
    options_.max_rate = limits.max_rate;
}

// The return path carries fewer ACKs than the receiver usually sends.
bool Udtx::acks_are_sparse() const { return acks_.sparse(); }

double Udtx::ack_interval() const { return acks_are_sparse() ? acks_.mean() : to_seconds(kSynInterval); }

double Udtx::push() const { return acks_are_sparse() ? kSparsePush : kPush; }

double Udtx::longest_hold() const {
    if (acks_are_sparse()) return kSparseHold * acks_.mean();
    return kUsualHold * std::min(to_seconds(kSynInterval), kAckPackets * datagram_bytes_ / rate_);
}

// Queue for which the window has room, s. If the hosts are slower than the link, the window must keep them busy while a
// thread is late. A visible queue does so already.
double Udtx::room() const {
    const double queue = equilibrium_delay();
    return mtr_.open() && has(UdtxPart::ends) ? ends_.fit() * (queue + std::max(0.0, kEndsLate - delay_.queue()))
                                              : queue;
}

std::uint64_t Udtx::window() const {
    double bytes = blind_window_;
    if (compete_.active()) {
        bytes = competing_window();
    } else if (phase_ != Phase::blind) {
        const double slack = phase_ == Phase::ramp ? 0.5 * delay_.base_rtt() : 0.0;
        // Packets that the receiver got since the last ACK still count as in flight here, so the window makes room for
        // them. A queue keeps the link busy while the sender waits for the next ACK, so `least` falls as the queue
        // grows.
        const double most = longest_hold();
        const double least = std::max(0.0, most - 2.0 * delay_.queue());
        const double held = std::clamp(to_seconds(sent_ - updated_.value_or(sent_)), least, most);
        const double back = acks_are_sparse() ? delay_.way_back() : 0.0;
        const double loop = delay_.base_rtt() + delay_.noise() + room() + back;
        bytes = trial_.factor() * rate_ * (loop + held + slack) + 4.0 * datagram_bytes_;
        // The receiver sends an ACK after so many packets, or else when its timer expires. The window must hold that
        // many at any queue.
        const double whole = (kAckPackets + 2.0) * datagram_bytes_;
        if (whole < rate_ * to_seconds(kSynInterval)) bytes = std::max(bytes, whole);
    }
    const auto limit = static_cast<double>(options_.max_window);
    return static_cast<std::uint64_t>(std::clamp(bytes, 2.0 * datagram_bytes_, std::max(limit, 2.0 * datagram_bytes_)));
}

Rate Udtx::pacing_rate() const {
    if (phase_ == Phase::blind) {
        if (delay_.base_rtt() <= 0.0) return options_.max_rate;
        return std::min(Rate::bytes_per_second(2.0 * blind_window_ / delay_.base_rtt()), options_.max_rate);
    }
    double pace = rate_;
    if (compete_.active()) {
        pace *= compete_.fixed() ? 1.02 : 1.2;  // the window controls
    } else if (phase_ == Phase::steady) {
        const double excess = (delay_.queue() - equilibrium_delay()) / (delay_.base_rtt() + ack_interval());
        const bool refills = has(UdtxPart::refill) && updated_ && *updated_ < frozen_until_;
        pace *= refills ? kRefillPace : std::clamp(1.0 - (has(UdtxPart::pace) ? 0.5 : 0.0) * excess, 0.7, 1.05);
    }
    pace *= drain_until_ ? kDrainPace : trial_.factor();
    return std::min(Rate::bytes_per_second(pace), options_.max_rate);
}

std::uint32_t Udtx::probe_packets() const {
    return fitting_probe(phase_ == Phase::blind ? 0.0 : packet_time(), mtr_.granularity());
}

CongestionReport Udtx::report() const {
    CongestionReport report;
    report.slow_start = phase_ != Phase::steady;
    report.mtr = Rate::bytes_per_second(mtr_.seen());
    const Rate sending = Rate::bytes_per_second(rate_);
    report.available = sending < report.mtr ? report.mtr - sending : Rate();
    report.congestion_degree = degree_;
    return report;
}

// How udtx starts: blind until a train measures the link, then a ramp up to the link rate.

namespace {
constexpr double kGroping = 64.0;      // packets of blind window: by then a probe should have measured the link
constexpr double kFloodedLoss = 0.25;  // lost packets for each acknowledged one
constexpr double kStart = 0.5;         // of C: the rate in the first round trip after the first train
constexpr double kSharedStart = 0.2;   // of C: what a new flow keeps of a busy link
constexpr double kSole = 0.6;          // of C, delivered: more than a new flow gets of a busy link, usually half
constexpr double kGone = 0.25;         // of q_h: below, the flow's own queue has emptied
constexpr double kSharedRtts = 0.125;  // RTTs after which a queue is that of others: the pacer's bursts are shorter
}  // namespace

// Slow start until a train or pairs measure the link. If the link is too fast for timestamps, the best estimate is the
// delivery rate until the link was full.
void Udtx::grope(const CongestionFeedback& feedback) {
    blind_window_ += static_cast<double>(feedback.acked_bytes);
    const bool flooded = static_cast<double>(feedback.lost.size()) > kFloodedLoss * feedback.acked_packets;
    if (!mtr_.known() && blind_window_ > kGroping * datagram_bytes_ && (flooded || delay_.queue() > half_delay()))
        mtr_.assume_delivered();
    if (mtr_.known() && delay_.base_rtt() > 0.0) start_ramp(feedback.now);
}

void Udtx::start_ramp(Instant now) {
    phase_ = Phase::ramp;
    rate_ = mtr_.mtr() * (has(UdtxPart::half_start) ? kStart : kStart / 4.0);
    rates_.add(now, rate_);
    at_line_since_.reset();
    shared_since_.reset();
    carried_ = 0.0;
    last_low_ = now;
    last_drain_ = now;
    started_ = now;
}

void Udtx::ramp(const CongestionFeedback& feedback, double dt) {
    const double rtt = delay_.base_rtt();
    // The credit that a late thread missed leaves in one burst (congestion/pacer.hpp). It makes a queue, too, but a
    // short one.
    if (delay_.queue() <= half_delay())
        shared_since_.reset();
    else if (!shared_since_)
        shared_since_ = feedback.now;
    const bool shared = shared_since_ && to_seconds(feedback.now - *shared_since_) >= kSharedRtts * rtt;
    if (shared || loss_.congestion() > 0.005) {
        if (shared) rate_ = std::min(rate_, kSharedStart * mtr_.mtr());
        if (has(UdtxPart::hold)) hold_until_ = feedback.now + from_seconds(kHold * (rtt + delay_.queue()));
        phase_ = Phase::steady;
        last_low_ = feedback.now;
        return;
    }
    // bound_rate() holds x below C at heavy loss. The ramp would then never end, and no trial would look for the cause.
    // After a timeout this does not apply, as the timeout itself counts packets as lost.
    if (first_ramp_ && loss_.total() > kHeavyLoss) {
        phase_ = Phase::steady;
        last_low_ = feedback.now;
        return;
    }
    if (shared_since_) return;
    rate_ = std::min(rate_ * std::exp2(2.0 * dt / rtt), capacity());
    if (rate_ < capacity()) {
        at_line_since_.reset();
        return;
    }
    if (!at_line_since_) at_line_since_ = feedback.now;
    const bool long_enough = to_seconds(feedback.now - *at_line_since_) > 3.0 * rtt;
    if (long_enough || mtr_.delivered() > 0.85 * mtr_.mtr()) {
        phase_ = Phase::steady;
        last_low_ = feedback.now;
    }
}

// If the first train overestimated the link, a queue appears without other flows. But then most of C arrives, and at
// C/5 the queue empties at once. The losses were those of the start.
void Udtx::reconsider_sharing(const CongestionFeedback& feedback) {
    if (feedback.delivery) carried_ = std::max(carried_, feedback.delivery->rate.bytes_per_second());
    const double line = mtr_.mtr() / (roughness_.bound() ? UdtxMtr::kOpen : 1.0);
    if (carried_ <= kSole * line || delay_.queue() > kGone * half_delay()) return;
    rate_ = std::max(rate_, carried_);
    loss_.restart();
    shared_since_.reset();
}

}  // namespace udtx::congestion
