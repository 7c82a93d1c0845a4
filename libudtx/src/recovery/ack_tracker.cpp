#include "recovery/ack_tracker.hpp"

#include <algorithm>
#include <cmath>

namespace udtx::recovery {

void ArrivalSamples::on_newest(Instant time, PacketNumber number, bool after_gap, bool spread) {
    if (after_gap && newest_) {
        newest_->beside_gap = true;
        keep(*newest_, spread);
    }
    newest_ = Sample{time, number, after_gap};
    // Usually this is the rest of a batch. Its number replaces that of the earlier packet, without reading newest_,
    // which was just stored.
    if (count_ > 0 && !after_gap && kept_[count_ - 1].time == time && !kept_[count_ - 1].beside_gap) {
        kept_[count_ - 1].number = number;
        return;
    }
    const bool due = count_ == 0 || number - kept_[count_ - 1].number >= every_;
    if (after_gap || due || kept_[count_ - 1].time == time) keep(*newest_, spread);
}

void ArrivalSamples::keep(const Sample& sample, bool spread) {
    if (count_ > 0) {
        Sample& last = kept_[count_ - 1];
        if (last.number == sample.number) return;
        if (last.time == sample.time && !last.beside_gap) {
            last = sample;
            return;
        }
    }
    // One entry is reserved for the newest packet.
    if (spread && count_ + 1 == kept_.size()) thin_out();
    if (count_ + 1 < kept_.size()) kept_[count_++] = sample;
}

void ArrivalSamples::thin_out() {
    every_ *= 2;
    std::size_t left = 0;
    for (std::size_t i = 0; i < count_; i += 2) kept_[left++] = kept_[i];
    count_ = left;
}

void ArrivalSamples::take(Instant largest_time, std::size_t most, wire::AckFrame& frame) {
    every_ = wire::kArrivalEvery;
    if (count_ > 0 && newest_ && kept_[count_ - 1].number != newest_->number) kept_[count_++] = *newest_;
    frame.arrival_count = 0;
    const std::size_t step = (count_ + most - 1) / most;
    for (std::size_t i = step == 0 ? 0 : (count_ - 1) % step; i < count_; i += step) {
        if (kept_[i].number > frame.largest()) continue;
        const auto before = std::chrono::duration_cast<std::chrono::microseconds>(largest_time - kept_[i].time).count();
        frame.arrivals[frame.arrival_count++] = {kept_[i].number,
                                                 static_cast<std::uint64_t>(std::max<std::int64_t>(before, 0))};
    }
    count_ = 0;
}

namespace {
constexpr Duration kSlowHandshake = std::chrono::milliseconds(1250);  // one padded packet at 8 kbit/s
constexpr double kTrustRate = 5.0;   // packets/s after a slow handshake, besides those that arrivals earn
constexpr double kDrainShare = 0.2;  // of the rate that comes through, while a queue of this end's packets drains
constexpr double kFewRate = 8.0;     // packets/s: below it, a queue on an open return path is not this end's
constexpr double kFallen = 0.9;      // of the rate sent: if less comes through, a queue grows or overflows
constexpr double kNearCapacity = 0.85;
constexpr double kGrowth = 1.05;          // factor per round, if the bound takes effect and nothing stands in the way
constexpr double kFelt = 0.8;             // of the bound: from this rate on, the bound takes effect
constexpr double kWider = 2.0;            // times the rate that came through during a queue: the path is wide again
constexpr double kHeavyLoss = 1.0 / 3.0;  // beyond the known random loss
constexpr double kMostChance = 0.5;
constexpr double kAsMuch = 0.7;        // of the loss or queue before: if more remains, this end does not cause it
constexpr std::size_t kMessage = 600;  // bytes; larger packets count as packets of a stream
constexpr double kCounted = 40.0;      // packets
constexpr std::uint32_t kRoundSamples = 4;
constexpr Duration kSlow = std::chrono::milliseconds(50);  // queueing delay of a return path that may be narrow
constexpr Duration kLeastQueue = std::chrono::milliseconds(10);
constexpr Duration kKeep = std::chrono::seconds(10);  // time until a higher rate is tried
constexpr Duration kLongestKeep = std::chrono::seconds(80);
constexpr double kMostDebt = 2.0;      // seconds until the debt is paid
constexpr double kMostSeconds = 60.0;  // seconds: longest queue, whatever the peer's clock says
}  // namespace

double AckPace::least_rate() const { return packet_bytes_ / to_seconds(kLongest); }

double AckPace::filling_rate(Instant now) const {
    if (starting()) return kTrustRate * packet_bytes_;
    const bool draining = now < draining_until_ && !trial_;
    return std::max(draining ? rate_ * kDrainShare / kShare : rate_, least_rate());
}

// On a slow link a packet takes time to transmit, and packets differ in size. So one transmission time is tolerated.
Duration AckPace::tolerated() const {
    if (capacity_ <= 0.0) return kLeastQueue;
    return std::max(kLeastQueue, from_seconds(std::min(kMostSeconds, packet_bytes_ / capacity_)));
}

Duration AckPace::draining_time(Duration queue) { return from_seconds(to_seconds(queue) / (1.0 - kDrainShare)); }

void AckPace::refill(Instant now) {
    if (refilled_ && now > *refilled_) {
        const double most = std::max(credit_, packet_bytes_);
        credit_ = std::min(credit_ + filling_rate(*refilled_) * to_seconds(now - *refilled_), most);
    }
    refilled_ = now;
}

void AckPace::on_sent(Instant now, std::size_t bytes) {
    const double size = static_cast<double>(bytes + kOverhead);
    packet_bytes_ += (size - packet_bytes_) / 8.0;
    if (data_ahead_ > 0 && --data_ahead_ == 0 && state_ == State::data) state_.enter(State::open);
    if (starting()) unconfirmed_ += size;
    spend(now, size);
}

// Flow-control credit and similar packets leave whatever the pace allows. In a long transfer they could cause a large
// debt, which would delay the last acknowledgements for minutes. The peer would then consider this end dead. So the
// debt is bounded.
void AckPace::spend(Instant now, double bytes) {
    if (!bounded()) return;
    refill(now);
    credit_ = std::max(credit_ - bytes, -filling_rate(now) * kMostDebt);
}

void AckPace::count_data(Instant now, std::size_t bytes) {
    spend(now, static_cast<double>(bytes + kOverhead));
    if (bytes <= kMessage || data_ahead_ == kManyData || ++data_ahead_ < kManyData) return;
    if (state_ != State::data) state_.enter(State::data);
    trial_.reset();
    round_.reset();
}

Instant AckPace::next() const {
    if (!bounded() || credit_ >= 0.0 || !refilled_) return Instant();
    const Duration wait = from_seconds(-credit_ / filling_rate(*refilled_)) + Duration(1);
    return *refilled_ + std::min(wait, kLongest);
}

void AckPace::on_handshake(Duration took) {
    if (took > kSlowHandshake && state_ == State::start) state_.enter(State::wary);
}

void AckPace::on_fate(const Fate& fate) {
    if (!fate.delay || state_ == State::data) return;
    const std::optional<Duration> before = delays_.value(fate.now);
    delays_.add(fate.now, *fate.delay);
    // While a queue from the handshake drains, the delay without a queue is not known yet.
    const bool drains = before && *before - *fate.delay > kLeastQueue;
    const Duration queue = std::min(*fate.delay - *delays_.value(fate.now), from_seconds(kMostSeconds));
    const double arrived = static_cast<double>(fate.bytes + std::uint64_t{fate.packets} * kOverhead);
    unconfirmed_ = std::max(unconfirmed_ - arrived - packet_bytes_ * fate.lost, 0.0);
    if (starting() && !drains) start(fate, queue);
    if (!drains) shorten_draining(fate, queue);
    count(fate, queue);
}

// When a packet that was sent later arrives, the queue from the start of the draining is gone. Only then it is known
// how much of that queue was lost in an overflow.
void AckPace::shorten_draining(const Fate& fate, Duration queue) {
    if (fate.now >= draining_until_ || fate.sent <= draining_since_ || trial_) return;
    draining_until_ = std::min(draining_until_, fate.sent + draining_time(queue));
    keep_until_ = draining_until_ + keep_;
}

void AckPace::start(const Fate& fate, Duration queue) {
    const bool wary = state_ == State::wary;
    if (wary) refill(fate.now);
    late_ = queue > kSlow;
    if (late_) {
        // At 8 kbit/s, a round trip takes too long after packets were sent at the usual pace.
        if (round_ && round_->least_queue <= kSlow) round_.reset();
        return;
    }
    if (wary) credit_ += 2.0 * packet_bytes_ * fate.packets;
    proven_ += fate.packets;
    if (proven_ >= kProven) state_.enter(State::open);
}

void AckPace::count(const Fate& fate, Duration queue) {
    if (fate.sent < draining_until_) {  // already judged, and losses by overflow are not random
        round_.reset();
        arrived_ = lost_ = 0.0;
        return;
    }
    const Instant arrival = fate.sent + *fate.delay;
    if (!round_) {
        round_ = Round{.began = fate.now, .first_sent = fate.sent, .first_arrival = arrival, .least_queue = queue};
        return;
    }
    Round& round = *round_;
    ++round.samples;
    round.packets += fate.packets;
    round.bytes += static_cast<double>(fate.bytes + std::uint64_t{fate.packets} * kOverhead);
    round.lost += fate.lost;
    round.least_queue = std::min(round.least_queue, queue);
    const bool early = starting() && round.least_queue > kSlow;
    if ((fate.sent < round.began && !early) || round.samples < kRoundSamples) return;
    if (arrival > round.first_arrival && fate.sent > round.first_sent && round.packets > 0) end_round(fate);
    round_.reset();
}

void AckPace::end_round(const Fate& fate) {
    const Round& round = *round_;
    arrived_ += round.packets;
    lost_ += round.lost;
    std::optional<double> loss;  // only if there are enough packets for a meaningful value
    if (arrived_ + lost_ >= kCounted) {
        loss = lost_ / (arrived_ + lost_);
        arrived_ = lost_ = 0.0;
    }
    if (trial_) {
        if (loss || trial_->loss <= 0.0) judge_trial(fate.now, loss.value_or(0.0));
        return;
    }
    // The rate that came through, corrected for random loss.
    const double came = round.bytes / (1.0 - random_loss_) / to_seconds(fate.sent + *fate.delay - round.first_arrival);
    const double offered = (round.bytes + round.lost * packet_bytes_) / to_seconds(fate.sent - round.first_sent);
    // Jitter makes small queues. A queue that this end causes grows and does not stay small.
    if (round.least_queue > (limited() ? tolerated() : kSlow)) {
        consider_queue(fate.now, came, offered);
    } else if (loss && *loss >= random_loss_ + kHeavyLoss) {
        begin_trial(fate.now, came / 2.0, *loss);  // the loss is random, or a policer causes it
    } else {
        if (loss) random_loss_ = std::min(*loss, kMostChance);
        if (limited()) probe(fate.now, offered);
    }
}

void AckPace::consider_queue(Instant now, double came, double offered) {
    if (state_ == State::open && offered < kFewRate * packet_bytes_) return;
    const Duration queue = round_->least_queue;
    const bool full = limited() && rate_ > kNearCapacity * capacity_;
    if (came < kFallen * offered || full) {
        capacity_ = came;
        const Duration unheard =
            starting() ? from_seconds(std::min(kMostSeconds, unconfirmed_ / came)) : Duration::zero();
        limit(now, kShare * came, draining_time(std::max(queue, unheard)));
    } else if (now >= innocent_until_) {
        // Everything comes through. So other traffic keeps the queue, or the sender waits for what is in the queue.
        begin_trial(now, kShare * came, 0.0);
    }
}

void AckPace::begin_trial(Instant now, double rate, double loss) {
    const Duration queue = loss > 0.0 ? Duration::zero() : round_->least_queue;
    arrived_ = lost_ = 0.0;
    trial_ = Trial{.queue = queue, .loss = loss, .state = state_, .rate = rate_};
    limit(now, rate, from_seconds(to_seconds(queue) / (1.0 - kShare)));
}

void AckPace::judge_trial(Instant now, double loss) {
    const Trial trial = *trial_;
    trial_.reset();
    const bool by_chance = trial.loss > 0.0 && loss > kAsMuch * trial.loss;
    const bool of_others = trial.loss <= 0.0 && to_seconds(round_->least_queue) > kAsMuch * to_seconds(trial.queue);
    if (!by_chance && !of_others) {
        capacity_ = rate_ / kShare;
        return;
    }
    if (by_chance) random_loss_ = std::min(loss, kMostChance);
    if (of_others) innocent_until_ = now + kKeep;
    if (trial.state != State::limited) state_.enter(trial.state);
    rate_ = trial.rate;
}

void AckPace::limit(Instant now, double rate, Duration draining) {
    refill(now);
    credit_ = std::min(credit_, 0.0);
    keep_ = limited() ? std::min(2 * keep_, kLongestKeep) : kKeep;
    if (!limited()) state_.enter(State::limited);
    rate_ = std::max(rate, least_rate());
    draining_since_ = now;
    draining_until_ = now + draining;
    keep_until_ = draining_until_ + keep_;
}

// Finds out slowly whether the return path has become wider.
void AckPace::probe(Instant now, double offered) {
    if (now < keep_until_ || offered < kFelt * rate_) return;
    rate_ = std::max(rate_ * kGrowth, capacity_);  // the return path is known to carry this much
    if (rate_ > kWider * capacity_) state_.enter(State::open);
}

bool AckTracker::on_received(Instant now, PacketNumber number, bool ack_eliciting) {
    if (number < floor_) return false;
    const std::optional<PacketNumber> before = largest();
    if (received_.insert(number, number + 1) == 0) return false;
    if (received_.count() > wire::kMaxAckRanges) {
        const Range oldest = received_.front();
        received_.erase(oldest.begin, oldest.end);
        floor_ = oldest.end;
        if (number < floor_) return false;  // this packet was the oldest range
    }
    if (!before || number > *before) largest_time_ = now;
    raise(Need::report);
    // Packets without ack-eliciting frames must not cause an ACK. Otherwise ACKs would be acknowledged forever (RFC
    // 9000, section 13.2.1).
    if (!ack_eliciting) return true;
    if (pending_eliciting_++ == 0) oldest_pending_ = now;
    raise(before && number != *before + 1 ? Need::at_once : Need::ack);
    if (!before || number > *before) {
        arrivals_.on_newest(now, number, before && number != *before + 1, pace_.limited());
    }
    return true;
}

bool AckTracker::wanted(Instant now) const noexcept {
    if (need_ < Need::ack) return false;
    return need_ == Need::at_once || pending_eliciting_ >= kPacketsPerAck || now - oldest_pending_ >= interval_;
}

bool AckTracker::due(Instant now) const noexcept { return wanted(now) && pace_.allows(now); }

std::optional<Instant> AckTracker::deadline() const noexcept {
    if (need_ < Need::ack) return std::nullopt;
    const Instant by_time = oldest_pending_ + interval_;
    const Instant allowed = pace_.next();
    if (allowed <= oldest_pending_) return by_time;
    return wanted(allowed) ? allowed : std::max(by_time, allowed);
}

bool AckTracker::build(Instant now, std::size_t max_ranges, wire::AckFrame& frame) {
    if (received_.empty() || max_ranges == 0) return false;
    frame.path = path_;
    const auto held = std::chrono::duration_cast<std::chrono::microseconds>(now - largest_time_).count();
    frame.delay_us = static_cast<std::uint64_t>(std::max<std::int64_t>(held, 0));
    const auto intervals = received_.intervals();
    frame.count = std::min({intervals.size(), max_ranges, wire::kMaxAckRanges});
    for (std::size_t i = 0; i < frame.count; ++i) {
        const Range& range = intervals[intervals.size() - 1 - i];
        frame.ranges[i] = wire::AckRange{.first = range.begin, .last = range.end - 1};
    }
    frame.arrival_count = 0;
    pending_eliciting_ = 0;
    need_ = Need::none;
    return true;
}

void AckTracker::put_back() noexcept {
    pending_eliciting_ = std::max(pending_eliciting_, 1U);
    need_ = Need::at_once;
}

// The floor stays. A packet that is late by a whole round trip is still accepted and becomes a range of its own.
void AckTracker::on_ack_acknowledged(PacketNumber ack_largest) {
    while (received_.count() > 1 && received_.front().end <= ack_largest) {
        const Range oldest = received_.front();
        received_.erase(oldest.begin, oldest.end);
    }
}

}  // namespace udtx::recovery
