// What a connection sends, and when it may.
#include <algorithm>
#include <cassert>

#include "proto/connection.hpp"
#include "wire/codec.hpp"

namespace udtx::proto {

using recovery::Control;
using recovery::SentPacket;

namespace {
constexpr PacketNumber kPairEvery = 16;                          // UDT4: sequence & 15 == 0
constexpr Duration kPairSpacing = std::chrono::milliseconds(1);  // pairs leave outside batches: not too often
constexpr std::size_t kPairStep = 16;  // each packet of a pair or train is larger than the one before: GRO cannot merge
constexpr std::uint32_t kMaxTrain = 16;
constexpr Duration kTrainTime = std::chrono::milliseconds(2);
constexpr Duration kTrainSpacing = std::chrono::milliseconds(200);  // a train is a burst: seldom, pairs in between
constexpr std::size_t kMaxAckRangesSent = 32;
}  // namespace

std::optional<Transmit> Connection::poll_transmit(Instant now, std::size_t max_segments, std::span<std::byte> out) {
    if (state_ == State::drained) return std::nullopt;
    if (keys_ && keys_->seal_limit_reached()) {
        // The peer never acknowledged the current key phase, so no new key could be had (RFC 9001, section 6.6).
        end({.code = ErrorCode::protocol, .message = "the key's packet limit was reached without an update"});
        return std::nullopt;
    }
    if (state_ == State::closing) return transmit_close(now, out);
    auto t = transmit_handshake(now, out);
    if (!keys_) return t;
    if (!t) t = transmit_challenge(now, out);
    if (!t) t = transmit_mtu_probe(now, out);
    if (!t) t = transmit_data(now, max_segments, out);
    return t;
}

Transmit Connection::transmit_of(std::size_t size, std::size_t segment) const {
    return Transmit{.local = path_.local, .remote = path_.remote, .size = size, .segment = segment};
}

std::optional<Transmit> Connection::transmit_close(Instant now, std::span<std::byte> out) {
    if (close_sends_ == 0 || now < close_next_) return std::nullopt;
    --close_sends_;
    close_next_ = now + close_spacing_;
    std::size_t size = 0;
    if (keys_) {
        size = build_packet(now, out, {.size = config_.min_datagram, .close = &close_frame_});
    } else {
        size = handshake_.make_close(now, out, close_frame_);
    }
    if (peer_closed_) state_ = State::drained;
    if (size == 0) return std::nullopt;
    return transmit_of(size, size);
}

std::optional<Transmit> Connection::transmit_handshake(Instant now, std::span<std::byte> out) {
    const std::size_t size = handshake_.poll(now, out);
    if (size == 0) return std::nullopt;
    return transmit_of(size, size);
}

std::optional<Transmit> Connection::transmit_challenge(Instant now, std::span<std::byte> out) {
    path::Validator& v = path_.validator;
    if (!v.challenge_due(now)) return std::nullopt;
    const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(v.credit(), config_.min_datagram));
    const std::size_t least = wire::kShortHeaderBytes + 9 + wire::kTagBytes;
    const std::size_t size =
        room < least
            ? 0
            : build_packet(now, out, {.size = room, .eliciting = true, .pad = true, .challenge = v.challenge()});
    v.on_challenge_sent(now, size, probe_interval());
    if (size == 0) return std::nullopt;
    Transmit t = transmit_of(size, size);
    t.local = v.local();
    t.remote = v.remote();
    return t;
}

// A probe that is lost says something about its size only on a path that works. One that is larger than a small window
// must not wait for ever.
bool Connection::mtu_probe_allowed(std::uint32_t size) const {
    const std::uint64_t window = path_.congestion->window();
    return path_.train_left == 0 && path_.recovery.probe_count() == 0 && path_.recovery.rtt().has_sample() &&
           path_.recovery.in_flight() + std::min<std::uint64_t>(size, window / 2) <= window;
}

std::optional<Transmit> Connection::transmit_mtu_probe(Instant now, std::span<std::byte> out) {
    const auto wanted = path_.mtu.probe_due(now);
    if (!wanted || *wanted > out.size() || !mtu_probe_allowed(*wanted)) return std::nullopt;
    const std::size_t size = build_packet(now, out, {.size = *wanted, .pad = true, .mtu_probe = true});
    path_.mtu.on_probe_sent();
    Transmit t = transmit_of(size, size);
    t.may_batch = false;
    t.mtu_probe = true;
    return t;
}

bool Connection::wants_to_send() const {
    return handshake_done_due_ || path_.response_due || path_.ping_due || streams_.pending();
}

bool Connection::train_due(Instant now) const {
    // The pacer forgives most of a train: where it would take long at the user's cap, it would break the cap.
    const bool within_cap =
        max_rate_.bytes_in(kTrainTime) >= static_cast<double>(kMaxTrain * std::size_t{path_.mtu.current()});
    return within_cap && path_.congestion->probe_packets() > 2 &&
           (!path_.last_train || now - *path_.last_train >= kTrainSpacing);
}

bool Connection::pair_opens_here(Instant now) const {
    // A controller that starts with a train waits for what it tells: the first one opens where there is data for it.
    const bool here = path_.recovery.next_number() % kPairEvery == 0 || (!path_.last_train && train_due(now));
    return here && now - path_.last_pair >= kPairSpacing && streams_.data_pending() && path_.probes == 0;
}

std::optional<Transmit> Connection::transmit_data(Instant now, std::size_t max_segments, std::span<std::byte> out) {
    maybe_update_keys();
    const Rate rate = std::min(path_.congestion->pacing_rate(), max_rate_);
    const std::size_t mtu = path_.mtu.current();
    path_.pacer.set_rate(now, rate, static_cast<std::uint32_t>(mtu));
    const std::uint64_t budget = path_.pacer.budget(now);
    const std::uint64_t window = path_.congestion->window();

    std::size_t used = 0;
    std::size_t segment = 0;
    for (std::size_t i = 0; i < max_segments && used + mtu <= out.size(); ++i) {
        const bool probe = path_.probes > 0;
        const bool follows = path_.train_left > 0;  // behind the first packet of a pair or train
        const bool allowed = probe || follows || (path_.recovery.in_flight() + mtu <= window && used + mtu <= budget);
        const bool wants = wants_to_send();
        if (!(allowed && (wants || probe)) && !path_.acks.due(now)) {
            if (!wants && !probe) path_.recovery.set_application_limited(true);
            const bool paced = wants && path_.recovery.in_flight() + mtu <= window;
            path_.pacer.set_held(paced,
                                 path_.recovery.rtt().has_sample() ? path_.recovery.rtt().minimum() : Duration());
            break;
        }
        PacketPlan plan{.size = mtu, .eliciting = allowed};
        if (path_.probes == 1) plan.size = path_.mtu.minimum();
        const bool opens = allowed && !follows && wants && pair_opens_here(now);
        if ((opens || follows) && i > 0) break;
        if (opens) {
            const std::uint32_t most = train_due(now) ? kMaxTrain : 2U;
            path_.train_left = std::clamp(path_.congestion->probe_packets(), 2U, most);
        }
        if (opens || follows) {
            plan.size = mtu - path_.train_left-- * kPairStep;
            plan.pair_second = follows;
        }
        const std::size_t size = build_packet(now, out.subspan(used, mtu), plan);
        if (opens && size == plan.size) {  // a small packet alone is neither pair nor train
            path_.last_pair = now;
            if (path_.train_left > 1) path_.last_train = now;
        }
        const bool train_ends = size != plan.size || !streams_.data_pending();
        if (train_ends) path_.train_left = 0;
        if (size == 0) break;
        used += size;
        if (segment == 0) segment = size;
        if (opens || follows) {
            Transmit t = transmit_of(used, segment);
            t.may_batch = false;
            return t;
        }
        if (size != mtu) break;
    }
    if (used == 0) return std::nullopt;
    return transmit_of(used, segment);
}

void Connection::fill_acks(Instant now, wire::Writer& out, SentPacket& packet) {
    if (!path_.acks.pending()) return;
    const std::size_t start = out.size();
    const RateFeedback measured = path_.pairs.take_feedback();
    if (!path_.acks.build(now, kMaxAckRangesSent, ack_scratch_)) return;
    path_.acks.add_arrivals(ack_scratch_);
    wire::RateFeedbackFrame feedback;
    feedback.path = path_.id;
    feedback.arrival_pps = static_cast<std::uint64_t>(measured.arrival_pps);
    feedback.capacity_pps = static_cast<std::uint64_t>(measured.capacity_pps);
    feedback.pair_gap_ns = static_cast<std::uint64_t>(measured.pair_gap.count());
    feedback.pair_bytes = measured.pair_bytes;
    feedback.line_pps = static_cast<std::uint64_t>(measured.line_pps);
    feedback.receive_time_us = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(path_.acks.largest_time().time_since_epoch()).count());
    if (!wire::write_frame(out, feedback) || !wire::write_ack(out, ack_scratch_)) {
        out.rewind(start);
        return;
    }
    packet.control = packet.control | Control::ack;
    packet.ack_largest = ack_scratch_.largest();
}

void Connection::fill_control(wire::Writer& out, SentPacket& packet) {
    const auto note = [&packet](Control bit) {
        packet.control = packet.control | bit;
        packet.ack_eliciting = true;
    };
    if (handshake_done_due_ && wire::write_frame(out, wire::HandshakeDoneFrame{})) {
        handshake_done_due_ = false;
        note(Control::handshake_done);
    }
    if (path_.response_due && wire::write_frame(out, wire::PathResponseFrame{*path_.response_due})) {
        path_.response_due.reset();
        note(Control::path_response);
    }
    if (path_.ping_due && wire::write_frame(out, wire::PingFrame{})) {
        path_.ping_due = false;
        note(Control::ping);
    }
}

std::size_t Connection::build_packet(Instant now, std::span<std::byte> out, const PacketPlan& plan) {
    if (plan.size > out.size()) return 0;
    const bool bare = plan.mtu_probe || plan.challenge || plan.close != nullptr;
    if (!bare && !plan.pair_second) maybe_skip_number();
    SentPacket packet;
    packet.number = path_.recovery.next_number();
    wire::Writer w(out.subspan(wire::kShortHeaderBytes, plan.size - wire::kShortHeaderBytes - wire::kTagBytes));
    if (plan.close != nullptr) {
        fill_acks(now, w, packet);  // the peer may be waiting to hear that its last bytes came
        (void)wire::write_frame(w, *plan.close);
    }
    if (plan.challenge && wire::write_frame(w, wire::PathChallengeFrame{*plan.challenge})) packet.ack_eliciting = true;
    if (plan.mtu_probe && wire::write_frame(w, wire::PingFrame{})) packet.ack_eliciting = true;
    if (!bare) {
        fill_acks(now, w, packet);
        if (plan.eliciting) {
            fill_control(w, packet);
            streams_.fill(w, packet);
            if (path_.probes > 0) {
                if (!packet.ack_eliciting && wire::write_frame(w, wire::PingFrame{})) packet.ack_eliciting = true;
                --path_.probes;
            }
        }
    }
    if (w.size() == 0) return 0;
    if (plan.pad) w.zeros(w.room());

    const std::size_t size = wire::kShortHeaderBytes + w.size() + wire::kTagBytes;
    wire::ShortHeader header;
    header.destination = handshake_.remote_id();
    header.path = path_.id;
    header.packet_number = static_cast<std::uint32_t>(packet.number);
    header.key_phase = keys_->key_phase();
    header.pair_second = plan.pair_second;
    wire::write_short_header(header, out);
    keys_->seal(path_.id, packet.number, out.first(size), wire::kShortHeaderBytes);

    packet.sent = now;
    packet.bytes = static_cast<std::uint32_t>(size);
    packet.in_flight = packet.ack_eliciting;
    packet.mtu_probe = plan.mtu_probe;
    ++path_.sent_packets;
    path_.sent_bytes += size;
    if (packet.retransmission) ++path_.retransmitted_packets;
    if (packet.in_flight) {
        last_sent_eliciting_ = now;
        path_.recovery.set_application_limited(false);
        path_.congestion->on_sent({now, packet.number, packet.bytes, path_.recovery.in_flight()});
        path_.pacer.on_sent(now, size);
    }
    path_.recovery.on_sent(packet);
    return size;
}

void Connection::maybe_update_keys() {
    const bool enough = keys_->sealed_in_phase() >= config_.rekey_after_packets;
    if (enough && keys_->can_update()) keys_->initiate_update();
}

void Connection::maybe_skip_number() {
    if (--path_.skip_in > 0) return;
    path_.recovery.skip_number();
    path_.skip_in = 1000 + deps_.rng->next_u64() % 4096;
}

}  // namespace udtx::proto
