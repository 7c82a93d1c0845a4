#include "congestion/udtx/udtx.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace udtx::congestion {

namespace {

// q_h, the delay that halves the share
constexpr double kHalfDelayPackets = 3.0;  // at least so many Lp,
constexpr double kMinHalfDelay = 1e-3;     // and so many s,
constexpr double kHalvesPerBuffer = 5.0;   // at most a fifth of the full buffer: room for 16 flows without loss

// The share
constexpr double kLate = 1.5e-3;  // s of queue kept by a flow that is alone, what threads of a busy host are late by,
constexpr double kLatePerBuffer = 0.25;  // of the full buffer, at most,
constexpr double kMoreRest = 0.38;       // of q_h, at most, more,
constexpr double kNearlyAlone = 0.6;     // of C: from here on, in full at C
constexpr double kMaxStep = 0.2;         // of the distance to the target, a feedback

// The start
constexpr double kInitialPackets = 18.0;

// The least: enough packets to hear of the line
constexpr double kLeastPackets = 4.0;  // a round trip,
constexpr double kLeastTime = 0.1;     // or so many s where that is longer: on a slow short line more fills the queue

// Where the ends are slower than the line: s that a thread waits for its turn, a slice of the scheduler
constexpr double kEndsLate = 3e-3;

constexpr double kBeyond = 1.25;  // times the most that was delivered: x is no more

// Losses
constexpr double kOverflow = 0.002;  // congestion loss from which on the highest delays are those of a full buffer
constexpr double kFillLoss = 0.04;   // congestion loss at which a line counts as full although no queue shows
constexpr double kLeastFull = 2.0;   // of the least q_h: the delay of a buffer, not of timers
constexpr Duration kBlame = std::chrono::seconds(20);  // after a trial that found congestion

// ACKs
constexpr double kAckPackets = 64.0;   // recovery::AckTracker::kPacketsPerAck
constexpr double kUsualHold = 1.2;     // intervals from one to the next
constexpr double kSparseHold = 2.0;    // intervals: of few, one may be lost
constexpr double kPush = 0.02;         // a round trip, beyond what the line is believed to carry,
constexpr double kSparsePush = 0.005;  // and where the queue that this makes is heard of late

}  // namespace

Udtx::Udtx(const CongestionOptions& options, UdtxParts parts)
    : options_(options),
      parts_(parts),
      datagram_bytes_(std::max(options.datagram_bytes, 1U)),
      blind_window_(kInitialPackets * datagram_bytes_) {}

double Udtx::packet_time() const { return mtr_.known() ? datagram_bytes_ / mtr_.mtr() : 0.0; }

double Udtx::least_half_delay() const { return std::max(kMinHalfDelay, kHalfDelayPackets * packet_time()); }

// Delay of the full buffer, if delay alone can tell its flows what to send.
std::optional<double> Udtx::roomy_buffer() const {
    const auto full = delay_.full();
    return full && *full > kHalvesPerBuffer * least_half_delay() ? full : std::nullopt;
}

// So little room that many flows of our own keep a queue full, too: what it does tells nothing of others.
bool Udtx::shallow() const {
    const auto full = delay_.full();
    return has(UdtxPart::shallow) && full && *full < kHalvesPerBuffer * UdtxShare::half_delay(delay_.base_rtt());
}

double Udtx::half_delay() const {
    double half = UdtxShare::half_delay(delay_.base_rtt());
    // A shallow buffer must have room for the queue of many flows, or losses would have to share the line.
    if (const auto full = delay_.full()) half = std::min(half, *full / kHalvesPerBuffer);
    return std::max(half, least_half_delay());
}

double Udtx::capacity() const { return mtr_.mtr() / (1.0 - std::min(loss_.random(), kMaxThinning)); }

// Who is alone keeps more. It grows by less than log2(C'/x) falls, so that q_eq still falls with x.
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
    const bool jitter = jitter_.size() > 0.0;
    mtr_.on_feedback(feedback, has(UdtxPart::tiers) ? degree_ : 0.0,
                     jitter ? UdtxMtr::Told::least : UdtxMtr::Told::line);
    if (has(UdtxPart::jitter)) jitter_.on_feedback(feedback, mtr_.line(), UdtxDelay::dead_zone(packet_time()));
    // While the queue overflows or is far too long it does not empty: the base must outlive its time.
    delay_.hold_base(has(UdtxPart::hold_base) &&
                     (compete_.active() || overrun_since_ || loss_.congestion() > kOverflow));
    delay_.on_feedback(feedback, packet_time(), jitter_.size());
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
        crowded_since_.reset();
    }
    switch (phase_) {
        case Phase::blind:
            grope(feedback);
            break;
        case Phase::ramp:
            ramp(feedback, dt);
            break;
        case Phase::steady:
            consider_trial(feedback);
            consider_competing(feedback);
            consider_drain(feedback);
            if (!compete_.active() && !drain_until_ && feedback.now >= frozen_until_) steer(feedback, dt);
            if (feedback.now < hold_until_ && crowded_since_ && has(UdtxPart::sole)) reconsider_crowd(feedback);
            break;
    }
    if (phase_ != Phase::blind) bound_rate(feedback);
}

void Udtx::count_packets(const CongestionFeedback& feedback) {
    if (!delay_.known()) return;
    const double high_from = delay_.long_queue(packet_time());
    UdtxLoss::Counts counts = UdtxLoss::count(feedback, delay_, high_from);
    if (mtr_.open() && has(UdtxPart::ends)) ends_.on_feedback(feedback, counts);
    const bool blamed = feedback.now < blamed_until_;  // every loss is congestion, whatever the delays say
    if (blamed) counts = {.high = counts.high + counts.low, .high_lost = counts.high_lost + counts.low_lost};
    for (const CongestionLost& lost : feedback.lost) {
        const double queue = delay_.queue_around(lost.number);
        delay_.note_lost(feedback.now, queue);
        if ((blamed || queue >= high_from) && loss_.congestion() > kOverflow) delay_.note_full(feedback.now, queue);
    }
    if (blamed) loss_.assume_random(blamed_random_);
    congestion_losses_ = static_cast<std::uint32_t>(counts.high_lost);
    loss_.on_feedback(feedback.now, counts, delay_.base_rtt());
}

void Udtx::consider_trial(const CongestionFeedback& feedback) {
    if (delay_.queue() > half_delay()) mtr_.unlimit();  // a queue to be seen: delay steers again
    if (compete_.active() || drain_until_ || !has(UdtxPart::trial)) return;
    const auto verdict = trial_.on_feedback(feedback, loss_.random(), delay_.base_rtt() + delay_.queue());
    if (verdict == UdtxTrial::Verdict::congestion) {
        blamed_random_ = trial_.remaining();
        loss_.restart();
        if (mtr_.delivered() > 0.0) mtr_.limit(mtr_.delivered());
        if (has(UdtxPart::blame)) blamed_until_ = feedback.now + kBlame;
    } else if (feedback.now < blamed_until_ && loss_.congestion() > kOverflow) {
        blamed_until_ = std::max(blamed_until_, feedback.now + kBlame / 4);
    }
    // The delay of a buffer that was full at the start shows when the base has fallen.
    const double lost_at = delay_.lost_at(feedback.now, share_.mean_queue());
    if (feedback.now < blamed_until_ && !delay_.full() && lost_at > kLeastFull * least_half_delay())
        delay_.note_full(feedback.now, lost_at);
}

// x += beta (x* - x) is D-AIMD: an additive term that falls with congestion, beta C K^(-CD), and a multiplicative
// one, beta x.
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
                   .full = feedback.now < blamed_until_ ? std::nullopt : roomy_buffer()});
    const double target = capacity() * std::min(std::exp2(rest()) * share_.share(), kMaxShare);
    const double loop_time = delay_.base_rtt() + ack_interval();
    if (target < rate_ && feedback.now < hold_until_ && delay_.queue() > own + 0.5 * half) return;
    rate_ += std::min(kMaxStep, share_.beta() * dt / loop_time) * (target - rate_);
    fill(feedback, dt);
}

// An empty queue says that nobody wants the rest of the line.
void Udtx::fill(const CongestionFeedback& feedback, double dt) {
    if (!has(UdtxPart::fill)) return;
    const double rtt = delay_.base_rtt();
    const bool doubtful = jitter_.size() > 0.0;  // neither C nor a single delay can be believed
    const double queue = doubtful ? delay_.smoothed() : delay_.queue();
    const bool wanted = queue >= 0.5 * kRest * half_delay() || loss_.congestion() > kFillLoss;
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
    gain_ = doubtful || rate_ < capacity() ? std::min(0.25, gain_ * std::exp(dt / (4.0 * rtt))) : push();
    rate_ *= std::pow(1.0 + gain_, dt / rtt);
}

void Udtx::bound_rate(const CongestionFeedback& feedback) {
    if (compete_.active()) return;
    rate_ = std::min(rate_, kMaxShare * capacity());
    // Heavy loss that no delay explains: a policer, or a queue that was full when the base was measured, unless a trial
    // has found it random. What a newcomer's own start has cost is none of them.
    if (const double over = loss_.total() / kHeavyLoss;
        has(UdtxPart::heavy_loss) && over > 1.0 && loss_.total() > trial_.borne() && feedback.now > hold_until_)
        rate_ = std::min(rate_, mtr_.mtr() / (over * over));
    const bool filled = !feedback.application_limited || jitter_.size() > 0.0;
    if (phase_ == Phase::steady && feedback.now > hold_until_ && filled && has(UdtxPart::cap) && mtr_.delivered() > 0.0)
        rate_ = std::min(rate_, kBeyond * mtr_.delivered() / (1.0 - std::min(loss_.random(), kMaxThinning)));
    rate_ = std::max(rate_, kLeastPackets * datagram_bytes_ / std::max(delay_.base_rtt(), kLeastTime));
}

void Udtx::on_limits(const PathLimits& limits) {
    datagram_bytes_ = limits.datagram_bytes;
    options_.max_rate = limits.max_rate;
}

// The way back lets fewer ACKs through than the receiver usually sends.
bool Udtx::acks_are_sparse() const { return acks_.sparse(); }

double Udtx::ack_interval() const { return acks_are_sparse() ? acks_.mean() : to_seconds(kSynInterval); }

double Udtx::push() const { return acks_are_sparse() ? kSparsePush : kPush; }

double Udtx::longest_hold() const {
    if (acks_are_sparse()) return kSparseHold * acks_.mean();
    return kUsualHold * std::min(to_seconds(kSynInterval), kAckPackets * datagram_bytes_ / rate_);
}

// For a queue, s. Where the ends are slower than the line they have to be kept busy while a thread is late; a queue
// that shows does so already.
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
        // Since the last ACK the receiver has taken more, which still counts as in flight here.
        // A sender that stands still until the next ACK is no harm while the queue keeps the line busy.
        const double most = longest_hold();
        const double least = std::max(0.0, most - 2.0 * delay_.queue());
        const double held = std::clamp(to_seconds(sent_ - updated_.value_or(sent_)), least, most);
        const double back = acks_are_sparse() ? delay_.way_back() : 0.0;
        const double loop = delay_.base_rtt() + delay_.noise() + room() + back;
        bytes = trial_.factor() * rate_ * (loop + held + slack) + 4.0 * datagram_bytes_;
        // An ACK that packets bring forth takes so many of them, whatever the queue; else all wait for its timer.
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
        pace *= compete_.claiming() ? 1.02 : 1.2;  // the window steers
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

}  // namespace udtx::congestion
