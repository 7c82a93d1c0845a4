#include "congestion/udtx/udtx.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "congestion/udtx/constants.hpp"

namespace udtx::congestion {

Udtx::Udtx(const CongestionOptions& options, UdtxParts parts)
    : options_(options),
      parts_(parts),
      datagram_bytes_(std::max(options.datagram_bytes, 1U)),
      blind_window_(kUdtx.initial_packets * datagram_bytes_) {}

namespace {

// Time in which a drain empties a queue of so many seconds.
double time_to_empty(double queue) { return (queue + kUdtx.margin) / (1.0 - kUdtx.drain_pace); }

}  // namespace

// What is seen.

double Udtx::packet_time() const { return mtr_.known() ? datagram_bytes_ / mtr_.mtr() : 0.0; }

double Udtx::least_half_delay() const { return UdtxShare::least_half_delay(packet_time()); }

double Udtx::half_delay() const {
    double half = UdtxShare::half_delay(delay_.base_rtt());
    // A shallow buffer needs room for the queue of many flows. Otherwise losses would have to share the link.
    if (const auto full = delay_.full()) half = std::min(half, *full / kUdtx.many_flows);
    return std::max(half, least_half_delay());
}

// Delay of the full buffer, if it is large enough for control by delay alone.
std::optional<double> Udtx::roomy_buffer() const {
    const auto full = delay_.full();
    return full && *full > kUdtx.many_flows * least_half_delay() ? full : std::nullopt;
}

// Whether the buffer is so small that many `udtx` flows, too, keep it full. A full queue then shows no competing flows.
bool Udtx::shallow() const {
    const auto full = delay_.full();
    return full && *full < kUdtx.many_flows * UdtxShare::half_delay(delay_.base_rtt());
}

// Deliveries fill the link, so the queue is this flow's own, even if others began it.
bool Udtx::alone() const { return mtr_.usual() > kUdtx.alone * mtr_.seen(); }

double Udtx::capacity() const {
    // Jitter makes lost packets look like those of a full queue and the reverse, so losses tell nothing, either.
    if (roughness_.rough() && state_ != State::ramp) return std::max(mtr_.seen(), roughness_.delivered());
    return mtr_.mtr() / (1.0 - std::min(loss_.random(), kUdtx.max_thinning));
}

// A flow alone keeps a longer queue: threads of a busy host are late.
double Udtx::rest() const { return alone() && has(UdtxPart::rest) ? kUdtx.rest_alone : kUdtx.rest; }

double Udtx::equilibrium_delay() const {
    return half_delay() * (rest() + std::log2(std::max(1.0, capacity() / std::max(rate_, 1.0))));
}

// The interval is longer than usual where the return path carries few ACKs.
double Udtx::ack_interval() const { return acks_.sparse() ? acks_.mean() : to_seconds(kSynInterval); }

double Udtx::loop_time() const { return delay_.base_rtt() + ack_interval(); }

// Returns the seconds since the last feedback.
double Udtx::observe(const CongestionFeedback& feedback) {
    acks_.on_feedback(feedback);
    const double longest = std::max(0.1, kUdtx.sparse_hold * acks_.mean());
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
                     (claim_.active() || company_.waits() || loss_.congestion() > kUdtx.overflow));
    delay_.on_feedback(feedback, packet_time(), roughness_);
    count_packets(feedback);
    careful_.on_feedback(feedback, delay_.queue(), half_delay());
    degree_ = std::min(1.0, delay_.queue() / (kUdtx.many_flows * half_delay()));
    if (delay_.queue() > half_delay()) mtr_.unlimit();  // with a visible queue, delay controls the rate again
    return dt;
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
        if ((all_congestion || queue >= high_from) && loss_.congestion() > kUdtx.overflow)
            delay_.note_full(feedback.now, queue);
    }
    if (all_congestion) loss_.assume_random(remaining_loss_);
    loss_.on_feedback(feedback.now, counts, delay_.base_rtt());
}

void Udtx::observe_drains(const CongestionFeedback& feedback) {
    if (state_ == State::blind || state_ == State::ramp || state_ == State::search) return;
    claim_.on_arrivals(feedback.arrivals);
    const bool judged = drains_.on_feedback(feedback, {.queue = delay_.queue(),
                                                       .empty = (kUdtx.empty + rest() - kUdtx.rest) * half_delay(),
                                                       .same = kUdtx.same * half_delay(),
                                                       .base_rtt = delay_.base_rtt(),
                                                       .alone = alone()});
    if (!judged) return;
    if (drains_.emptied()) company_.stop_waiting();
    // The queue of `udtx` flows alone rests at q_eq.
    const bool own = drains_.before() < equilibrium_delay() + half_delay();
    claim_.on_drained({.share = rate_ / mtr_.seen(), .loss = loss_.congestion(), .emptied = own && drains_.emptied()});
}

// The states.

void Udtx::on_sent(const CongestionSent& packet) {
    sent_ = packet.now;
    if (state_ == State::blind) careful_.on_sent(packet, blind_window_);
    if (state_ == State::drain && drains_.over(packet.now)) begin_refill(packet.now);
}

void Udtx::on_feedback(const CongestionFeedback& feedback) {
    const double dt = observe(feedback);
    if (feedback.persistent_timeout && state_ != State::blind) restart();
    observe_drains(feedback);
    switch (state_) {
        case State::blind:
            blind(feedback);
            break;
        case State::ramp:
            ramp(feedback, dt);
            break;
        case State::share:
            share(feedback, dt);
            break;
        case State::search:
            search(feedback);
            break;
        case State::trial:
            trial(feedback);
            break;
        case State::drain:
            if (drains_.over(feedback.now)) begin_refill(feedback.now);
            break;
        case State::refill:
            if (feedback.now >= refilled_at_) state_.enter(claim_.active() ? State::claim : State::share);
            break;
        case State::claim:
            claim(feedback, dt);
            break;
    }
    bound_rate(feedback);
    note_path(feedback);
}

// Slow start until a train or pairs measure the link. If the link is too fast for timestamps, the best estimate is the
// delivery rate until the link was full.
void Udtx::blind(const CongestionFeedback& feedback) {
    blind_window_ += static_cast<double>(feedback.acked_bytes);
    if (careful_.refuted())
        blind_window_ = std::min(blind_window_, std::max(careful_.safe(), kUdtx.least_packets * datagram_bytes_));
    const bool flooded = static_cast<double>(feedback.lost.size()) > kUdtx.flooded * feedback.acked_packets;
    if (!mtr_.known() && blind_window_ > kUdtx.blind_packets * datagram_bytes_ &&
        (flooded || delay_.queue() > half_delay()))
        mtr_.assume_delivered();
    if (!mtr_.known() || delay_.base_rtt() <= 0.0) return;
    state_.enter(State::ramp);
    rate_ = mtr_.mtr() * (has(UdtxPart::half_start) ? kUdtx.start : kUdtx.start / 4.0);
}

// All in flight is lost, at most C/8 is known to fit.
void Udtx::restart() {
    state_.enter(State::ramp);
    rate_ = std::min(rate_, mtr_.mtr() / 8.0);
    first_ramp_ = false;
    at_line_since_.reset();
    shared_since_.reset();
    carried_ = 0.0;
    low_since_.reset();
    claim_.end();
    forget_company();
}

void Udtx::forget_company() {
    drains_.forget();
    trial_.abandon();
    company_.stop_waiting();
}

void Udtx::ramp(const CongestionFeedback& feedback, double dt) {
    const double rtt = delay_.base_rtt();
    if (first_ramp_ && careful_.phase() == UdtxCarefulStart::Phase::retreat) {
        // Queue and losses are those of this flow's first window, which was too large. They do not show other flows.
        rate_ = std::clamp(0.5 * mtr_.delivered(), kUdtx.shared_start * mtr_.mtr(), kUdtx.start * mtr_.mtr());
        loss_ = UdtxLoss();
        shared_since_.reset();
        return;
    }
    // The credit that a late thread missed leaves in one burst (congestion/pacer.hpp). It makes a queue, too, but a
    // short one.
    if (delay_.queue() <= half_delay())
        shared_since_.reset();
    else if (!shared_since_)
        shared_since_ = feedback.now;
    const bool shared = shared_since_ && to_seconds(feedback.now - *shared_since_) >= kUdtx.shared_rtts * rtt;
    if (shared || loss_.congestion() > kUdtx.ramp_loss) {
        if (shared) rate_ = std::min(rate_, kUdtx.shared_start * mtr_.mtr());
        hold(feedback.now);
        state_.enter(State::share);
        return;
    }
    // A ramp at heavy loss may never reach C. After a timeout this does not apply, as the timeout itself counts packets
    // as lost. A start into a full queue loses much, too, at delays that look short. Random loss goes on.
    if (first_ramp_ && loss_.total() > kUdtx.heavy_loss) {
        loss_ = UdtxLoss();
        state_.enter(State::share);
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
    if (long_enough || mtr_.delivered() > 0.85 * mtr_.mtr()) state_.enter(State::share);
}

// For two round trips the flow ignores the queue that it made itself by a start or a search.
void Udtx::hold(Instant now) {
    if (has(UdtxPart::hold)) hold_until_ = now + from_seconds(kUdtx.effect_rtts * (delay_.base_rtt() + delay_.queue()));
}

void Udtx::share(const CongestionFeedback& feedback, double dt) {
    if (leave_share(feedback)) return;
    steer(feedback, dt);
    if (feedback.now < hold_until_ && shared_since_ && has(UdtxPart::sole)) reconsider_sharing(feedback);
}

bool Udtx::leave_share(const CongestionFeedback& feedback) {
    const Instant now = feedback.now;
    // Jitter makes losses look random. Only so many show that x, and not the path, causes them.
    const double loss = !roughness_.rough() ? loss_.random() : loss_.total() > kUdtx.heavy_loss ? loss_.total() : 0.0;
    if (has(UdtxPart::trial) && trial_.due(feedback, loss)) {
        state_.enter(State::trial);
        passed_ = mtr_.delivered();
        return true;
    }
    if (now < all_congestion_until_ && loss_.congestion() > kUdtx.overflow)
        all_congestion_until_ = std::max(all_congestion_until_, now + kUdtx.all_congestion / 4);
    const double half = half_delay();
    // Drains of `udtx` flows would have emptied the queue, and others would drain, too.
    const bool known = drains_.in_vain() && claim_.others() * mtr_.seen() > rate_;
    const auto verdict = company_.on_feedback({.now = now,
                                               .queue = delay_.queue(),
                                               .half_delay = half,
                                               .base_rtt = delay_.base_rtt(),
                                               .range = delay_.range(),
                                               .packets = mtr_.delivered() / datagram_bytes_,
                                               .full = delay_.full().value_or(0.0),
                                               .shallow = shallow(),
                                               .alone = alone(),
                                               .known = known});
    if (verdict == UdtxCompany::Verdict::longer_path && has(UdtxPart::longer_path)) {
        delay_.forget_base();
        drains_.forget();
        return true;  // without a base there is no queue to steer by
    } else if (verdict == UdtxCompany::Verdict::others && has(UdtxPart::compete)) {
        claim_.begin(std::max(rate_ / mtr_.seen(), kUdtx.least_claim));
        forget_company();
        state_.enter(State::claim);
        return true;
    }
    // A queue that is empty all the time shows the base without a drain.
    if (has(UdtxPart::drain) && drains_.due(now) && !low_since_) {
        drain(now);
        return true;
    }
    const bool free = roughness_.rough() || (roughness_.doubtful() && delay_.queue() < kUdtx.empty * half);
    if (free && !feedback.application_limited && roughness_.delivered() > kUdtx.more_found * found_) {
        state_.enter(State::search);
        found_ = roughness_.delivered();
        found_since_ = now;
        return true;
    }
    return false;
}

// x += beta (x* - x) is D-AIMD: an additive term that falls with congestion, beta C K^(-CD), and a multiplicative one,
// beta x.
void Udtx::steer(const CongestionFeedback& feedback, double dt) {
    if (!delay_.known()) return;
    const double half = half_delay();
    share_.update({.dt = dt,
                   .rtt = delay_.base_rtt(),
                   .interval = ack_interval(),
                   .queue = delay_.smoothed(),
                   .base = delay_.base(),
                   .half_delay = half,
                   .loss = has(UdtxPart::loss) ? loss_.congestion() : 0.0,
                   .full = feedback.now < all_congestion_until_ ? std::nullopt : roomy_buffer(),
                   .two_speeds = has(UdtxPart::two_speeds)});
    if (roughness_.rough()) {
        steer_rough(feedback, dt);
        return;
    }
    const double target = capacity() * std::min(std::exp2(rest()) * share_.share(), kUdtx.max_share);
    if (target < rate_ && feedback.now < hold_until_ && delay_.queue() > equilibrium_delay() + 0.5 * half) return;
    rate_ += std::min(kUdtx.max_step, share_.beta() * dt / loop_time()) * (target - rate_);
    fill(feedback, dt);
}

// Single delays and losses tell little here: x follows the mean queue, bounded by what arrives. In a buffer that is
// shorter than the jitter no queue shows. Then x would stay above what arrives, until a trial finds the loss.
void Udtx::steer_rough(const CongestionFeedback& feedback, double dt) {
    low_since_.reset();
    if (feedback.application_limited) return;
    const double share = std::exp2(std::min(0.0, rest() - delay_.queue() / half_delay()));
    const double loss = feedback.now < all_congestion_until_ ? loss_.congestion() : 0.0;
    const double beyond = 1.0 + (kUdtx.probe - 1.0) * std::max(0.0, 1.0 - loss / kUdtx.some_loss);
    const double target = std::min(capacity() * share, beyond * roughness_.delivered());
    rate_ += std::min(kUdtx.max_step, kUdtx.max_beta * dt / loop_time()) * (target - rate_);
}

// An empty queue means that no flow uses the rest of the link.
void Udtx::fill(const CongestionFeedback& feedback, double dt) {
    if (!has(UdtxPart::fill)) return;
    const double rtt = delay_.base_rtt();
    const double queue = delay_.queue();
    // If trains differ, C and losses do not tell that the link is full.
    const bool wanted = roughness_.doubtful()
                            ? queue >= kUdtx.empty * half_delay()
                            : queue >= 0.5 * kUdtx.rest * half_delay() || loss_.congestion() > kUdtx.much_loss;
    if (wanted || feedback.application_limited) {
        low_since_.reset();
        return;
    }
    if (!low_since_) {
        low_since_ = feedback.now;
        gain_ = 0.05;
    }
    if (to_seconds(feedback.now - *low_since_) <= 1.2 * rtt + to_seconds(kSynInterval)) return;
    gain_ = rate_ < capacity() ? std::min(0.25, gain_ * std::exp(dt / (4.0 * rtt))) : kUdtx.push;
    rate_ *= std::pow(1.0 + gain_, dt / rtt);
}

// If the first train overestimated the link, a queue appears without other flows. But then most of C arrives, and at
// C/5 the queue empties at once. The losses were those of the start.
void Udtx::reconsider_sharing(const CongestionFeedback& feedback) {
    if (feedback.delivery) carried_ = std::max(carried_, feedback.delivery->rate.bytes_per_second());
    const double line = mtr_.mtr() / (roughness_.bound() ? kUdtx.open : 1.0);
    if (carried_ <= kUdtx.sole * line || delay_.queue() > kUdtx.empty * half_delay()) return;
    rate_ = std::max(rate_, carried_);
    loss_.restart();
    shared_since_.reset();
}

// Doubles x until deliveries grow no more (as the Startup of BBR), or a queue forms.
void Udtx::search(const CongestionFeedback& feedback) {
    const double delivered = roughness_.delivered();
    if (delivered > kUdtx.probe * found_) {
        found_ = delivered;
        found_since_ = feedback.now;
    }
    const double round = std::max(delay_.base_rtt(), kUdtx.least_time) + delay_.base_rtt();
    const bool queue = delay_.queue() > kUdtx.search_queue * half_delay();
    const bool lasts = to_seconds(feedback.now - found_since_) <= kUdtx.rounds * round;
    // Deliveries of an application with too little data say nothing about the link.
    if (roughness_.doubtful() && !feedback.application_limited && !queue && lasts) {
        rate_ = std::max(rate_, kUdtx.open * delivered);
        return;
    }
    if (!feedback.application_limited) rate_ = std::min(rate_, delivered);
    if (queue) hold(feedback.now);
    found_ = delivered;
    state_.enter(State::share);
}

void Udtx::trial(const CongestionFeedback& feedback) {
    const auto verdict = trial_.on_feedback(feedback, delay_.base_rtt() + delay_.queue());
    if (verdict == UdtxTrial::Verdict::none) return;
    state_.enter(State::share);
    if (verdict != UdtxTrial::Verdict::congestion) return;
    remaining_loss_ = trial_.remaining();
    loss_.restart();
    if (passed_ > 0.0) mtr_.limit(passed_);
    if (has(UdtxPart::all_congestion)) all_congestion_until_ = feedback.now + kUdtx.all_congestion;
}

// Time for the queue to empty if all flows drain, but not for that of competing flows. The queue
// oscillates, so the queue that `udtx` flows would keep counts if it is longer.
double Udtx::drain_length() const {
    const double own = equilibrium_delay();
    return std::min(time_to_empty(std::max(delay_.queue(), own)),
                    std::max(delay_.base_rtt() / 2.0, claim_.active() ? kUdtx.claim_drain : kUdtx.most_drain));
}

void Udtx::begin_refill(Instant now) {
    state_.enter(State::refill);
    const double refill = has(UdtxPart::refill) ? equilibrium_delay() / (kUdtx.probe - 1.0) : 0.0;
    refilled_at_ = now + from_seconds(delay_.base_rtt() + refill);
}

// Beside flows that fill the queue, x is at least the claim.
void Udtx::claim(const CongestionFeedback& feedback, double dt) {
    if (claim_.over() || alone()) {
        claim_.end();
        drains_.forget();
        state_.enter(State::share);
    } else if (has(UdtxPart::drain) && drains_.due(feedback.now)) {
        drain(feedback.now);
    } else {
        steer(feedback, dt);
    }
}

void Udtx::drain(Instant now) {
    state_.enter(State::drain);
    low_since_.reset();
    drains_.begin(now, drain_length());
    claim_.on_drain({.begin = now,
                     .end = drains_.end(),
                     .part = kUdtx.drain_pace,
                     .base = delay_.base(),
                     .dead = from_seconds(UdtxDelay::dead_zone(packet_time()))});
}

void Udtx::bound_rate(const CongestionFeedback& feedback) {
    if (state_ == State::blind) return;
    if (state_ != State::search) rate_ = std::min(rate_, kUdtx.max_share * capacity());
    // Heavy loss without delay comes from a policer, or from a queue that was full when the base was measured. Loss
    // that a trial found random does not count, and neither do losses of the flow's own start.
    if (const double over = loss_.total() / kUdtx.heavy_loss;
        has(UdtxPart::heavy_loss) && state_ != State::search && !roughness_.rough() && over > 1.0 &&
        loss_.total() > trial_.borne() && feedback.now > hold_until_)
        rate_ = std::min(rate_, mtr_.mtr() / (over * over));
    const bool settled = state_ != State::ramp && state_ != State::search && !roughness_.rough();
    if (settled && feedback.now > hold_until_ && !feedback.application_limited && has(UdtxPart::cap) &&
        mtr_.delivered() > 0.0)
        rate_ = std::min(rate_, kUdtx.probe * mtr_.delivered() / (1.0 - std::min(loss_.random(), kUdtx.max_thinning)));
    const double least = kUdtx.least_packets * datagram_bytes_ / std::max(delay_.base_rtt(), kUdtx.least_time);
    rate_ = std::max({rate_, claimed(), least});
}

// What the transport asks.

void Udtx::on_limits(const PathLimits& limits) {
    datagram_bytes_ = limits.datagram_bytes;
    options_.max_rate = limits.max_rate;
}

double Udtx::longest_hold() const {
    if (acks_.sparse()) return kUdtx.sparse_hold * acks_.mean();
    return kUdtx.usual_hold * std::min(to_seconds(kSynInterval), kUdtx.ack_packets * datagram_bytes_ / rate_);
}

// Queue for which the window has room, s. If the hosts are slower than the link, the window must keep them busy while a
// thread is late. A visible queue does so already.
double Udtx::room() const {
    const double queue = equilibrium_delay();
    return mtr_.open() && has(UdtxPart::ends) ? ends_.fit() * (queue + std::max(0.0, kUdtx.ends_late - delay_.queue()))
                                              : queue;
}

// Rate that the flow claims beside others, bytes/s.
double Udtx::claimed() const { return claim_.share() * mtr_.seen(); }

std::uint64_t Udtx::window() const {
    double bytes = std::max(blind_window_, careful_.window());
    if (state_ != State::blind) {
        const double slack = state_ == State::ramp ? 0.5 * delay_.base_rtt() : 0.0;
        // Packets that the receiver got since the last ACK still count as in flight here, so the window makes room for
        // them. A queue keeps the link busy while the sender waits for the next ACK, so `least` falls as the queue
        // grows.
        const double most = longest_hold();
        const double least = std::max(0.0, most - 2.0 * delay_.queue());
        const double held = std::clamp(to_seconds(sent_ - updated_.value_or(sent_)), least, most);
        const double back = acks_.sparse() ? delay_.way_back() : 0.0;
        const double loop = delay_.base_rtt() + delay_.noise() + room() + back;
        bytes =
            (state_ == State::trial ? trial_.factor() : 1.0) * rate_ * (loop + held + slack) + 4.0 * datagram_bytes_;
        // The receiver sends an ACK after so many packets, or else when its timer expires. The window must hold that
        // many at any queue.
        const double whole = (kUdtx.ack_packets + 2.0) * datagram_bytes_;
        if (whole < rate_ * to_seconds(kSynInterval)) bytes = std::max(bytes, whole);
        bytes = std::max(bytes, claimed() * (delay_.base_rtt() + delay_.queue() + to_seconds(kSynInterval)));
    }
    const auto limit = static_cast<double>(options_.max_window);
    return static_cast<std::uint64_t>(std::clamp(bytes, 2.0 * datagram_bytes_, std::max(limit, 2.0 * datagram_bytes_)));
}

Rate Udtx::pacing_rate() const {
    double pace = rate_;
    switch (state_) {
        case State::blind:
            if (careful_.window() > blind_window_) {
                pace = careful_.rate();
                break;
            }
            if (delay_.base_rtt() <= 0.0) return options_.max_rate;
            pace = 2.0 * blind_window_ / delay_.base_rtt();
            break;
        case State::ramp:
        case State::search:
            break;
        case State::share:
        case State::claim: {
            const double excess = (delay_.queue() - equilibrium_delay()) / loop_time();
            pace *= std::clamp(1.0 - (has(UdtxPart::pace) ? 0.5 : 0.0) * excess, 0.7, 1.05);
            pace = std::max(pace, claimed());
            break;
        }
        case State::trial:
            pace *= trial_.factor();
            break;
        case State::drain:
            pace *= kUdtx.drain_pace;
            break;
        case State::refill:
            pace *= has(UdtxPart::refill) ? kUdtx.probe : 1.0;
            break;
    }
    return std::min(Rate::bytes_per_second(pace), options_.max_rate);
}

std::uint32_t Udtx::probe_packets() const {
    return fitting_probe(state_ == State::blind ? 0.0 : packet_time(), mtr_.granularity());
}

CongestionReport Udtx::report() const {
    CongestionReport report;
    report.slow_start = state_ == State::blind || state_ == State::ramp || state_ == State::search;
    report.mtr = Rate::bytes_per_second(mtr_.seen());
    const Rate sending = Rate::bytes_per_second(rate_);
    report.available = sending < report.mtr ? report.mtr - sending : Rate();
    report.congestion_degree = degree_;
    return report;
}

void Udtx::recall(const KnownPath& path, Duration rtt) {
    if (state_ == State::blind) careful_.recall(path, rtt);
}

std::optional<KnownPath> Udtx::known_path() const {
    if (!known_ && careful_.refuted()) return KnownPath{.measured = *updated_};
    return known_;
}

// What arrived over a tenth of a second or a round trip: bursts do not count. It is no more than the link is known to
// carry.
void Udtx::note_path(const CongestionFeedback& feedback) {
    const double delivered = std::min(roughness_.delivered(), mtr_.seen());
    if (state_ != State::share || feedback.application_limited || feedback.acked_packets == 0 || delivered <= 0.0)
        return;
    known_ = {.capacity = Rate::bytes_per_second(delivered),
              .base_rtt = from_seconds(delay_.base_rtt()),
              .jitter = from_seconds(delay_.noise()),
              .measured = feedback.now};
}

}  // namespace udtx::congestion
