#include "congestion/scavenger.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "congestion/udtx/seen.hpp"

namespace udtx::congestion {

namespace {

constexpr double kShareAverage = 1.0 / 4;                     // weight of a new round trip
constexpr double kPresent = 0.6;                              // of C: below this share others are present
constexpr double kAlone = 0.8;                                // of C: from this share on they have gone
constexpr Duration kTarget = std::chrono::microseconds(600);  // less than the queue that one `udtx` keeps
constexpr double kCautious = 0.5;                             // of the growth of a flow alone
constexpr Duration kEmpty = std::chrono::seconds(5);          // after so long without a queue, others have gone
constexpr Duration kTrialInterval = std::chrono::seconds(30);
constexpr int kTrialRounds = 64;                             // from two packets to the share of a link, at 1/8 each
constexpr Duration kForeign = std::chrono::milliseconds(5);  // the flow itself never exceeds its target by so much

}  // namespace

void ScavengerCompany::on_round(const Round& round) {
    rtt_ = round.rtt;
    round_queue_ = round.longest;
    if (round.longest >= kTarget) busy_ = round.now;
    if (!round.share) return;
    share_ += kShareAverage * (*round.share - share_);
    const bool before = present_;
    present_ = share_ < (before ? kAlone : kPresent);
    if (present_ && !before) busy_ = round.now;
}

void ScavengerCompany::on_feedback(Instant now, Duration queue, Duration most) {
    const bool over = trial_until_ && (now >= *trial_until_ || foreign(queue, most));
    if (!present_ || over) {
        last_trial_ = now;
        trial_until_.reset();
    } else if (!trial_until_ && now - last_trial_ >= kTrialInterval) {
        trial_until_ = now + kTrialRounds * rtt_;
        // A `low` flow that believes to be alone keeps a queue of `most`. A queue of twice that shows it that it is
        // not.
        trial_target_ = round_queue_ < most / 2 ? most : 2 * most;
    }
}

void ScavengerCompany::on_overflow(Instant now) {
    busy_ = now;
    if (trial_until_) trial_until_ = now;
}

Duration ScavengerCompany::target(Duration most) const {
    if (trial_until_) return trial_target_;
    return present_ ? kTarget : most;
}

bool ScavengerCompany::foreign(Duration queue, Duration most) const {
    return queue > target(most) + std::max(most, kForeign);
}

double ScavengerCompany::growth(Instant now, double alone) const {
    if (!present_) return alone;
    if (trial_until_ || now - busy_ > kEmpty) return kFastGrowth;
    return std::max(kCautious * alone, std::min(alone, kLeastGrowth));
}

namespace {

constexpr double kInitialSegments = 2.0;
constexpr double kLeastSegments = 2.0;
constexpr double kGrowth = 1.0 / 16;  // of the window, in a round trip without a queue
constexpr double kKnownPart = 0.85;   // of the largest window that fitted: up to there it grows fast
constexpr double kLoopGain = 0.5;     // part of the distance to the target that one round trip covers
constexpr double kDecrease = 0.5;     // of the window, in a round trip at twice the target
constexpr double kMostDecrease = 0.5;
constexpr double kSlowStartExit = 0.75;  // of the target (LEDBAT++, section 4.4)
constexpr double kTolerated = 0.02;      // part of a round that may be lost without a full queue
constexpr double kTargetGrowth = 0.02;   // per second
constexpr double kCongestion = 3e-4;     // of all packets, lost at a long queue
constexpr double kRandomPart = 0.25;     // of the random loss: congestion loss must exceed it
constexpr double kErr = 0.25;            // of J: the mean queue of a rough path errs by so much
constexpr int kPauseRounds = 2;          // at the least window (LEDBAT++, section 4.3)
constexpr int kPauseInterval = 9;        // a pause takes a tenth of the time
constexpr double kResume = 0.9;          // of the window before the pause
constexpr double kPacing = 1.1;
constexpr double kSlowStartPacing = 2.0;

}  // namespace

Duration BaseDelay::least() const {
    const auto end = least_.begin() + static_cast<std::ptrdiff_t>(std::min(used_, kSteps));
    return used_ == 0 ? Duration::zero() : *std::min_element(least_.begin(), end);
}

Duration BaseDelay::add(Instant now, Duration delay) {
    if (used_ == 0 || now - step_start_ >= kStep) {
        least_[used_++ % kSteps] = delay;
        step_start_ = now;
    }
    Duration& newest = least_[(used_ - 1) % kSteps];
    newest = std::min(newest, delay);
    return least();
}

Scavenger::Scavenger(const CongestionOptions& options)
    : options_(options), segment_(std::max(options.datagram_bytes, 1U)), window_(kInitialSegments * segment_) {}

double Scavenger::least_window() const noexcept { return kLeastSegments * segment_; }

void Scavenger::on_sent(const CongestionSent& packet) {
    const auto after = static_cast<double>(packet.in_flight_before + packet.bytes);
    if (after + 2.0 * segment_ >= 0.8 * window_) window_used_ = true;
}

void Scavenger::on_feedback(const CongestionFeedback& feedback) {
    if (feedback.smoothed_rtt > Duration::zero()) smoothed_rtt_ = feedback.smoothed_rtt;
    if (feedback.persistent_timeout) {
        resume_ = window_ = least_window();
        phase_ = Phase::slow_start;
        company_ = {};
        round_end_ = feedback.largest_sent;
        return;
    }
    measure(feedback);
    for (const CongestionLost& lost : feedback.lost) {
        if (!answered_ || lost.number > *answered_) round_lost_ += lost.bytes;
    }
    round_acked_ += feedback.acked_bytes;
    if (feedback.application_limited) round_limited_ = true;
    if (!feedback.lost.empty()) on_losses(feedback);
    if (feedback.acked_packets == 0) return;
    if (!round_end_) round_end_ = feedback.largest_sent;
    adjust(feedback);
    if (feedback.largest_acked >= *round_end_) end_round(feedback);
}

void Scavenger::measure(const CongestionFeedback& feedback) {
    mtr_.on_feedback(feedback, 0.0, roughness_.rough() ? UdtxMtr::Told::mean : UdtxMtr::Told::line);
    roughness_.on_feedback(feedback, to_seconds(base_.least()), UdtxShare::half_delay(to_seconds(base_.least())));
    delay_.on_feedback(feedback, packet_time(), roughness_);
    if (delay_.known()) {
        const auto counts = UdtxLoss::count(feedback, delay_, delay_.long_queue(packet_time()));
        loss_.on_feedback(feedback.now, counts, delay_.base_rtt());
        const bool fresh = !feedback.lost.empty() && (!answered_ || feedback.lost.back().number > *answered_);
        // Jitter, too, makes delays long.
        overflowed_ = fresh && counts.high_lost > 0.0 && !roughness_.rough() &&
                      loss_.congestion() > std::max(kCongestion, kRandomPart * loss_.random());
    }
    if (!feedback.rtt_sample) return;
    const Duration base = base_.add(feedback.now, *feedback.rtt_sample);
    recent_[recent_count_++ % kFilter] = *feedback.rtt_sample;
    const auto end = recent_.begin() + static_cast<std::ptrdiff_t>(std::min(recent_count_, kFilter));
    const Duration least = *std::min_element(recent_.begin(), end);
    queue_ = roughness_.rough() ? from_seconds(roughness_.queue() - kErr * roughness_.noise())
                                : least - base - from_seconds(UdtxDelay::dead_zone(packet_time()));
    queue_ = std::max(queue_, Duration::zero());
    round_queue_ = std::max(round_queue_, queue_);
}

double Scavenger::packet_time() const { return mtr_.mtr() > 0.0 ? segment_ / mtr_.mtr() : 0.0; }

Duration Scavenger::most_queue() const {
    return std::min(target_, from_seconds(UdtxShare::half_delay(to_seconds(base_.least()))));
}

void Scavenger::adjust(const CongestionFeedback& feedback) {
    const auto acked = static_cast<double>(feedback.acked_bytes);
    if (phase_ == Phase::pause) return;
    if (phase_ == Phase::slow_start) {
        if (window_used_) window_ += acked;
        if (to_seconds(queue_) > kSlowStartExit * to_seconds(target_)) enter(Phase::steady, feedback);
    } else {
        if (!company_.trial()) before_trial_ = window_;
        company_.on_feedback(feedback.now, queue_, most_queue());
        const double change = change_of_window(feedback.now);
        if (change < 0.0) {
            window_ = std::max(window_ + acked * change, floor_);
        } else if (window_used_) {
            window_ += std::max(acked * change, segment_ * ScavengerCompany::kLeastGrowth * acked / window_);
        }
    }
    window_ = std::clamp(window_, least_window(), std::max(static_cast<double>(options_.max_window), least_window()));
}

// Below the target, the queue lacks W (target - q) / RTT, and a round trip adds half of it. Above the target, the
// window shrinks in proportion to the excess (LEDBAT++, section 4.2). It halves if the queue can only be that of
// others.
double Scavenger::change_of_window(Instant now) const {
    const Duration most = most_queue();
    const Duration target = company_.target(most);
    if (company_.foreign(queue_, most)) return -kMostDecrease;
    if (queue_ >= target) return kDecrease * to_seconds(target - queue_) / to_seconds(most);
    const double rtt = std::max(to_seconds(smoothed_rtt_), 1e-4);
    // A step shows in the queue two round trips later. Until then growth adds at most half of the target queue.
    const double growth = std::clamp(0.25 * to_seconds(target_) / rtt, ScavengerCompany::kLeastGrowth, kGrowth);
    const double missing = to_seconds(std::max(target, most) - queue_);
    return company_.growth(now, std::min(kLoopGain * missing / rtt,
                                         window_ < kKnownPart * known_ ? ScavengerCompany::kFastGrowth : growth));
}

// RFC 6817 halves the window at each loss and would starve at random loss. If this flow overflows the queue by its
// growth, a round trip loses more than the tolerated part. Then the queue is smaller than the target, and from then on
// the flow fills only a quarter of it.
void Scavenger::on_losses(const CongestionFeedback& feedback) {
    if (phase_ == Phase::pause) return;  // losses of the window before the pause
    // Early in a round, losses still belong to packets of the round before.
    const std::uint64_t packets = std::max(round_lost_ + round_acked_, last_round_acked_);
    const double tolerated = company_.trial() ? loss_.random() : kTolerated;
    const double expected = tolerated * static_cast<double>(packets) / segment_;
    const double lost = static_cast<double>(round_lost_) / segment_;
    if (!overflowed_ && lost <= expected + 3.0 * std::sqrt(expected) + 1.0) return;
    halve();
    // The flow gives back what it took in the trial, as that was too much.
    if (company_.trial()) floor_ = window_ = std::min(window_, std::max(before_trial_, least_window()));
    company_.on_overflow(feedback.now);
    answered_ = feedback.largest_sent;
    round_lost_ = 0;
    target_ = std::clamp(std::max(round_queue_, last_round_queue_) / 4, kLeastTarget, target_);
    target_time_ = feedback.now;
    if (phase_ == Phase::slow_start) enter(Phase::steady, feedback);
}

void Scavenger::enter(Phase phase, const CongestionFeedback& feedback) {
    phase_ = phase;
    phase_start_ = feedback.now;
    phase_rounds_ = 0;
    round_end_ = feedback.largest_sent;
}

void Scavenger::halve() {
    if (halved_) return;
    halved_ = true;  // once per round
    window_ = std::max(window_ / 2.0, floor_);
    resume_ = std::min(resume_, window_);
}

void Scavenger::end_round(const CongestionFeedback& feedback) {
    round_end_ = feedback.largest_sent;
    company_.on_round(
        {.now = feedback.now, .rtt = smoothed_rtt_, .longest = round_queue_, .share = round_share(feedback.now)});
    round_start_ = feedback.now;
    round_limited_ = false;
    if (mtr_.open()) company_ = {};
    const double seconds = to_seconds(feedback.now - std::exchange(target_time_, feedback.now));
    target_ = std::min(from_seconds(to_seconds(target_) * (1.0 + kTargetGrowth * std::min(seconds, 1.0))), kTarget);
    last_round_queue_ = round_queue_;
    round_queue_ = Duration::zero();
    last_round_acked_ = std::exchange(round_acked_, 0);
    round_lost_ = 0;
    halved_ = false;
    window_used_ = false;
    // One round trip takes at most half. The next one takes nothing, so that the reduction can show its effect.
    const bool reduced = window_ < 0.95 * round_window_;
    if (!reduced) known_ = std::max(window_, 0.98 * known_);
    held_ = reduced && !held_;
    floor_ = held_ ? window_ : std::max(window_ / 2.0, least_window());
    round_window_ = window_;
    ++phase_rounds_;
    resuming_ = false;
    follow_phase(feedback);
}

// Share of the link, for a round trip that filled the window and had no pause.
std::optional<double> Scavenger::round_share(Instant now) const {
    const double seconds = to_seconds(now - round_start_);
    if (phase_ != Phase::steady || phase_rounds_ < 2 || !window_used_ || seconds <= 0.0) return std::nullopt;
    if (mtr_.mtr() <= 0.0 || mtr_.open() || round_limited_) return std::nullopt;
    return static_cast<double>(round_acked_) / seconds / mtr_.mtr();
}

// A pause shows the delay without this flow's own queue. So a flow that starts later does not take the queue of others
// for the path's length. The first pause starts two rounds after slow start.
void Scavenger::follow_phase(const CongestionFeedback& feedback) {
    if (phase_ == Phase::slow_start) return;
    const Duration since = feedback.now - phase_start_;
    if (phase_ == Phase::pause) {
        if (phase_rounds_ <= kPauseRounds) return;
        pause_length_ = since;
        window_ = std::max(kResume * resume_, least_window());
        resuming_ = true;
        enter(Phase::steady, feedback);
    } else if (phase_rounds_ >= 2 && since >= kPauseInterval * pause_length_) {
        resume_ = window_;
        window_ = least_window();
        enter(Phase::pause, feedback);
    }
}

void Scavenger::on_limits(const PathLimits& limits) { segment_ = limits.datagram_bytes; }

std::uint64_t Scavenger::window() const { return static_cast<std::uint64_t>(std::max(window_, least_window())); }

Rate Scavenger::pacing_rate() const {
    if (smoothed_rtt_ <= Duration::zero()) return Rate::infinite();
    // After a pause the whole window leaves again. Faster than the path's rate, it would end in the queue.
    const double gain = phase_ == Phase::slow_start ? kSlowStartPacing : resuming_ ? 1.0 : kPacing;
    return Rate::bytes_per_second(gain * window_ / to_seconds(smoothed_rtt_));
}

// Links for which a whole train is too long get pairs. A train longer than the window would overflow the queue.
std::uint32_t Scavenger::probe_packets() const {
    const std::uint32_t packets = fitting_probe(packet_time());
    return packets >= kUsualTrainPackets && window_ >= packets * segment_ ? packets : kPairPackets;
}

CongestionReport Scavenger::report() const {
    CongestionReport report;
    report.mtr = Rate::bytes_per_second(mtr_.seen());
    report.slow_start = phase_ == Phase::slow_start;
    return report;
}

}  // namespace udtx::congestion
