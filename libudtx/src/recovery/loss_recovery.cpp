#include "recovery/loss_recovery.hpp"

#include <algorithm>
#include <cassert>

namespace udtx::recovery {

void RttEstimator::add(Duration sample, Duration ack_delay) {
    sample = std::max(sample, Duration(1));
    // The minimum takes the raw sample, so that the delay that the peer reports cannot lower it (RFC 9002, section
    // 5.2).
    minimum_ = has_sample_ ? std::min(minimum_, sample) : sample;
    latest_ = sample - minimum_ >= ack_delay ? sample - ack_delay : sample;
    if (!has_sample_) {
        smoothed_ = latest_;
        variance_ = latest_ / 2;
        has_sample_ = true;
        return;
    }
    const Duration deviation = smoothed_ > latest_ ? smoothed_ - latest_ : latest_ - smoothed_;
    variance_ = (3 * variance_ + deviation) / 4;
    smoothed_ = (7 * smoothed_ + latest_) / 8;
}

void RttEstimator::reset() { *this = RttEstimator(); }

Duration RttEstimator::probe_timeout() const noexcept { return smoothed_ + std::max(4 * variance_, kGranularity); }

void ReorderingTolerance::on_spurious(Instant now, std::uint64_t distance, Duration late, Duration min_rtt,
                                      Duration smoothed) {
    calm_since_ = now;
    packets_ = std::clamp(distance + 1, packets_, kMaxPacketThreshold);
    if (late <= Duration::zero()) return;
    const Duration step = std::max(min_rtt / 4, Duration(1));
    const Duration wanted = (late / step + 1) * step;
    window_ = std::min(std::max(window_, wanted), smoothed);
}

void ReorderingTolerance::decay(Instant now, Duration smoothed) {
    if (!calm_since_ || now - *calm_since_ < kCalmRounds * smoothed) return;
    packets_ = std::max(packets_ / 2, kPacketThreshold);
    window_ /= 2;
    if (window_ < smoothed / 16) window_ = Duration::zero();
    if (packets_ == kPacketThreshold && window_ == Duration::zero()) {
        calm_since_.reset();
    } else {
        calm_since_ = now;
    }
}

void DeliveryRate::on_sent(SentPacket& packet, std::uint64_t in_flight) {
    if (in_flight == 0) {
        first_sent_time_ = packet.sent;
        delivered_time_ = packet.sent;
    }
    packet.first_sent_time = first_sent_time_;
    packet.delivered_time = delivered_time_;
    packet.delivered = delivered_;
    packet.application_limited = limited_until_ != 0;
}

void DeliveryRate::on_acked(const SentPacket& packet, Instant now) {
    delivered_ += packet.bytes;
    delivered_time_ = now;
    if (newest_ && packet.number < newest_->number) return;
    newest_ = Newest{.number = packet.number,
                     .delivered = packet.delivered,
                     .application_limited = packet.application_limited,
                     .send_elapsed = packet.sent - packet.first_sent_time,
                     .ack_elapsed = now - packet.delivered_time};
    first_sent_time_ = packet.sent;
}

std::optional<DeliverySample> DeliveryRate::take_sample(Duration min_rtt) {
    if (limited_until_ != 0 && delivered_ > limited_until_) limited_until_ = 0;
    if (!newest_) return std::nullopt;
    const Newest newest = *newest_;
    newest_.reset();
    // The slower of the two phases bounds the rate. Sending bursts and compressed ACKs each shorten only one of them.
    const Duration interval = std::max(newest.send_elapsed, newest.ack_elapsed);
    if (interval <= Duration::zero() || interval < min_rtt) return std::nullopt;
    return DeliverySample{.rate = Rate::from_bytes(delivered_ - newest.delivered, interval),
                          .interval = interval,
                          .application_limited = newest.application_limited};
}

void DeliveryRate::set_application_limited(std::uint64_t in_flight) {
    limited_until_ = std::max<std::uint64_t>(delivered_ + in_flight, 1);
}

namespace {
constexpr std::uint32_t kMaxBackoffShift = 10;
}  // namespace

void Outcome::clear() {
    acked.clear();
    lost.clear();
    acked_bytes = 0;
    acked_packets = 0;
    quiet_acked = 0;
    quiet_bytes = 0;
    quiet_lost = 0;
    acked_span = {};
    ce_packets = 0;
    spurious = 0;
    rtt_sample.reset();
    delivery.reset();
    arrivals.clear();
    in_flight_before = 0;
    largest_sent_time = Instant();
    largest_newly_acked = false;
    proves_alive = false;
    probe_timeout = false;
}

LossRecovery::LossRecovery(Duration max_ack_delay, PacketNumber first)
    : max_ack_delay_(max_ack_delay), sent_(first), loss_cursor_(first), rtt_valid_from_(first) {}

void LossRecovery::skip_number() {
    while (skipped_.size() >= kSkippedRemembered && skipped_[skipped_.first()] < sent_.first()) skipped_.pop_front();
    skipped_.push_back(sent_.next());
    sent_.push_back(Slot{});
}

void LossRecovery::on_sent(const SentPacket& sent) {
    assert(sent.number == sent_.next());
    forget_finished(sent.sent);
    Slot& slot = sent_.push_slot();
    slot.state = State::outstanding;
    SentPacket& packet = slot.packet;
    packet = sent;
    if (packet.in_flight) {
        delivery_.on_sent(packet, bytes_in_flight_);
        bytes_in_flight_ += packet.bytes;
        ++packets_in_flight_;
        if (packet.ack_eliciting) {
            ++eliciting_in_flight_;
            last_eliciting_ = packet.sent;
        }
    }
    if (!packet.in_flight) ++quiet_;
}

Result<void> LossRecovery::check(const wire::AckFrame& frame) const {
    const auto ranges = frame.view();
    if (ranges.empty()) return Error{ErrorCode::protocol, "ACK without ranges"};
    if (frame.largest() >= sent_.next()) return Error{ErrorCode::protocol, "ACK of a packet never sent"};
    PacketNumber below = sent_.next();
    for (const wire::AckRange& range : ranges) {
        if (range.first > range.last || range.last >= below) return Error{ErrorCode::protocol, "ACK ranges disordered"};
        below = range.first;
    }
    if (acknowledges_skipped(frame)) return Error{ErrorCode::protocol, "ACK of a packet never sent (skipped number)"};
    return {};
}

bool LossRecovery::acknowledges_skipped(const wire::AckFrame& frame) const {
    const auto ranges = frame.view();
    std::size_t r = 0;  // skipped numbers and ranges both descend
    for (std::uint64_t i = skipped_.next(); i != skipped_.first(); --i) {
        const PacketNumber number = skipped_[i - 1];
        while (r < ranges.size() && ranges[r].first > number) ++r;
        if (r == ranges.size()) return false;
        if (ranges[r].last >= number) return true;
    }
    return false;
}

Result<void> LossRecovery::on_ack(Instant now, const wire::AckFrame& frame, Duration ack_delay, Outcome& out) {
    out.clear();
    if (auto valid = check(frame); !valid) return valid;
    out.in_flight_before = bytes_in_flight_;
    const PacketNumber largest = frame.largest();
    const PacketNumber known = largest_acked_ ? *largest_acked_ + 1 : 0;
    largest_acked_ = std::max(largest_acked_.value_or(largest), largest);
    take_arrivals(frame, out);

    const auto ranges = frame.view();
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        const PacketNumber begin = std::max(range->first, sent_.first());
        const PacketNumber end = range->last + 1;
        if (begin >= end) continue;
        acked_.for_each_gap(begin, end, [&](PacketNumber from, PacketNumber to) {
            for (PacketNumber number = from; number != to; ++number) acknowledge(now, number, out);
        });
        acked_.insert(begin, end);
    }
    const auto first_new = std::lower_bound(out.acked.begin(), out.acked.end(), known,
                                            [](const SentPacket& p, PacketNumber number) { return p.number < number; });
    if (first_new != out.acked.end()) out.acked_span = out.acked.back().sent - first_new->sent;
    out.proves_alive = !out.acked.empty() && !before_timeout(out.acked.back().number);
    if (out.proves_alive) {
        if (!in_timeout()) probe_count_ = 0;
        const bool any_eliciting =
            std::any_of(out.acked.begin(), out.acked.end(), [](const SentPacket& p) { return p.ack_eliciting; });
        take_rtt_sample(now, largest, any_eliciting, ack_delay, out);
        out.delivery = delivery_.take_sample(rtt_.minimum());
    }
    reordering_.decay(now, rtt_.smoothed());
    detect_losses(now, out);
    forget_finished(now);
    return {};
}

void LossRecovery::take_arrivals(const wire::AckFrame& frame, Outcome& out) const {
    for (const wire::AckArrival& arrival : frame.arrival_view()) {
        if (!sent_.contains(arrival.number) || sent_[arrival.number].state == State::skipped) continue;
        const Instant sent = sent_[arrival.number].packet.sent;
        out.arrivals.push_back({.number = arrival.number,
                                .sent = sent,
                                .delay = Instant() - sent - std::chrono::microseconds(arrival.before_us)});
    }
}

void LossRecovery::acknowledge(Instant now, PacketNumber number, Outcome& out) {
    Slot& slot = sent_[number];
    assert(slot.state == State::outstanding || slot.state == State::lost);
    const SentPacket& packet = slot.packet;
    if (before_timeout(number)) {
        if (packet.in_flight && slot.state == State::outstanding) leave_flight(packet);
    } else if (packet.in_flight) {
        if (packet.range_count == 0) {
            if (!packet.mtu_probe) ++out.quiet_acked;
            out.quiet_bytes += packet.bytes;
        }
        delivery_.on_acked(packet, now);
        if (slot.state == State::lost) {
            ++out.spurious;
            adapt_to_spurious(now, slot);
        } else {
            leave_flight(packet);
            out.acked_bytes += packet.bytes;
            ++out.acked_packets;
        }
    } else {
        ++out.quiet_acked;
        out.quiet_bytes += packet.bytes;
    }
    slot.state = State::acked;
    out.acked.push_back(packet);
}

void LossRecovery::take_rtt_sample(Instant now, PacketNumber largest, bool any_eliciting, Duration ack_delay,
                                   Outcome& out) {
    if (out.acked.back().number != largest) return;
    out.largest_newly_acked = true;
    out.largest_sent_time = out.acked.back().sent;
    // RFC 9002, section 5.1: the peer may hold back an acknowledgement of ACKs alone for any time.
    if (!any_eliciting || largest < rtt_valid_from_) return;
    rtt_.add(now - out.largest_sent_time, std::clamp(ack_delay, Duration::zero(), max_ack_delay_));
    out.rtt_sample = rtt_.latest();
}

void LossRecovery::adapt_to_spurious(Instant now, const Slot& slot) {
    // Before the first RTT sample of an address, the thresholds rest on a guess. Then a late packet proves nothing.
    if (!rtt_.has_sample() || slot.packet.mtu_probe) return;
    const Duration late = (now - slot.packet.sent) - (time_threshold() - reordering_.window());
    reordering_.on_spurious(now, *largest_acked_ - slot.packet.number, late, rtt_.minimum(), rtt_.smoothed());
}

Duration LossRecovery::time_threshold() const {
    const Duration rtt = rtt_.has_sample() ? std::max(rtt_.smoothed(), rtt_.latest()) : rtt_.smoothed();
    return std::max(rtt * 9 / 8, kGranularity) + reordering_.window();
}

// Numbers ascend with the send time. So the lost packets are always a prefix of those in flight below the largest
// acknowledged number, and the cursor passes each number once.
void LossRecovery::detect_losses(Instant now, Outcome& out) {
    loss_time_.reset();
    if (!largest_acked_) return;
    const Duration threshold = time_threshold();
    loss_cursor_ = std::max(loss_cursor_, sent_.first());
    for (; loss_cursor_ < *largest_acked_ && loss_cursor_ < sent_.next(); ++loss_cursor_) {
        Slot& slot = sent_[loss_cursor_];
        if (slot.state != State::outstanding) continue;
        if (slot.packet.in_flight) {
            const Instant expiry = slot.packet.sent + threshold;
            if (*largest_acked_ - loss_cursor_ < reordering_.packet_threshold() && expiry > now) {
                loss_time_ = expiry;
                return;
            }
            leave_flight(slot.packet);
            out.lost.push_back(slot.packet);
            if (slot.packet.range_count == 0 && !slot.packet.mtu_probe) ++out.quiet_lost;
        } else {
            ++out.quiet_lost;
        }
        slot.state = State::lost;
        slot.lost_at = now;
    }
}

void LossRecovery::leave_flight(const SentPacket& packet) {
    bytes_in_flight_ -= packet.bytes;
    --packets_in_flight_;
    if (packet.ack_eliciting) --eliciting_in_flight_;
}

// A lost packet is remembered for one more probe timeout, so that a late acknowledgement shows that the loss was
// spurious. In a timeout it is remembered longer, so that data that a late acknowledgement frees is not sent again.
// This has an end too, because a path may never return. A packet that is not in flight (ACKs only) may never be
// acknowledged. It is forgotten once its acknowledgement has no use.
bool LossRecovery::finished(const Slot& slot, Instant now) const {
    switch (slot.state) {
        case State::skipped:
        case State::acked:
            return true;
        case State::lost:
            return now - slot.lost_at > (in_timeout() ? kSilenceRemembered : probe_timeout());
        case State::outstanding:
            return !slot.packet.in_flight && (quiet_ > kMaxQuiet || now - slot.packet.sent > 3 * probe_timeout());
    }
    return true;
}

void LossRecovery::forget_front() {
    const Slot& slot = sent_[sent_.first()];
    if (slot.state != State::skipped && !slot.packet.in_flight) --quiet_;
    sent_.pop_front();
}

void LossRecovery::forget_finished(Instant now) {
    const PacketNumber before = sent_.first();
    while (!sent_.empty() && finished(sent_[sent_.first()], now)) forget_front();
    if (sent_.first() != before) acked_.erase(before, sent_.first());
}

const SentPacket* LossRecovery::oldest_in_flight() const noexcept {
    if (eliciting_in_flight_ == 0) return nullptr;
    for (PacketNumber number = std::max(loss_cursor_, sent_.first()); number != sent_.next(); ++number) {
        const Slot& slot = sent_[number];
        if (slot.state == State::outstanding && slot.packet.in_flight && slot.packet.ack_eliciting) return &slot.packet;
    }
    return nullptr;
}

std::optional<Instant> LossRecovery::probe_deadline() const {
    if (eliciting_in_flight_ == 0) return std::nullopt;
    const Duration once = probe_timeout();
    const Duration backed_off = once * (1LL << std::min(probe_count_, kMaxBackoffShift));
    return last_eliciting_ + std::min(backed_off, std::max(once, kMaxProbeInterval));
}

std::optional<Instant> LossRecovery::deadline() const { return loss_time_ ? loss_time_ : probe_deadline(); }

void LossRecovery::on_timeout(Instant now, Outcome& out) {
    out.clear();
    out.in_flight_before = bytes_in_flight_;
    if (loss_time_) {
        if (*loss_time_ > now) return;
        detect_losses(now, out);
        forget_finished(now);
        return;
    }
    const auto probe = probe_deadline();
    if (!probe || *probe > now) return;
    ++probe_count_;
    last_eliciting_ = now;  // the next timeout counts from here, even if the caller has nothing to probe with
    out.probe_timeout = true;
}

void LossRecovery::begin_timeout() {
    if (!timeout_from_) timeout_from_ = sent_.next();
}

void LossRecovery::end_timeout() {
    timeout_from_.reset();
    probe_count_ = 0;
}

void LossRecovery::give_up_flight(Instant now, Outcome& out, Instant sent_before) {
    out.clear();
    out.in_flight_before = bytes_in_flight_;
    loss_cursor_ = std::max(loss_cursor_, sent_.first());
    for (; loss_cursor_ < sent_.next(); ++loss_cursor_) {
        Slot& slot = sent_[loss_cursor_];
        if (slot.state != State::outstanding) continue;
        if (slot.packet.sent >= sent_before) break;
        if (slot.packet.in_flight) {
            leave_flight(slot.packet);
            out.lost.push_back(slot.packet);
        }
        slot.state = State::lost;
        slot.lost_at = now;
    }
    loss_time_.reset();
}

void LossRecovery::abandon(Outcome& out) {
    out.clear();
    out.in_flight_before = bytes_in_flight_;
    for (; !sent_.empty(); forget_front()) {
        const Slot& slot = sent_[sent_.first()];
        if (slot.state != State::outstanding || !slot.packet.in_flight) continue;
        leave_flight(slot.packet);
        out.lost.push_back(slot.packet);
    }
    acked_.clear();
    loss_time_.reset();
}

void LossRecovery::reset_rtt() {
    rtt_.reset();
    reordering_.reset();
    probe_count_ = 0;
    rtt_valid_from_ = sent_.next();
}

void LossRecovery::set_application_limited(bool limited) {
    if (limited) delivery_.set_application_limited(bytes_in_flight_);
}

}  // namespace udtx::recovery
