// The contents of a packet, and what is remembered of it.
#include <algorithm>
#include <cassert>

#include "base/release.hpp"
#include "crypto/packet_protection.hpp"
#include "proto/connection_impl.hpp"
#include "udtx/core/datagram.hpp"
#include "wire/frame.hpp"
#include "wire/header.hpp"

namespace udtx::proto {

using recovery::Control;
using recovery::SentPacket;

namespace {
constexpr std::size_t kMaxAckRangesSent = 32;
constexpr std::size_t kFewAckRanges = 4;
constexpr std::size_t kCloseBytes = 1 + 1 + 8 + 8;  // a CLOSE frame without its reason: type, kind, code, length
}  // namespace

void Connection::Impl::fill_acks(Instant now, PathContext& p, wire::Writer& out, SentPacket& packet) {
    if (!p.acks.pending()) return;
    const std::size_t start = out.size();
    wire::RateFeedbackFrame report = probing::to_frame(p.line_meter.take_report());
    if (!p.acks.build(now, kMaxAckRangesSent, ack_scratch_)) return;
    p.acks.add_arrivals(ack_scratch_);
    report.path = p.id;
    report.receive_time_us = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(p.acks.largest_time().time_since_epoch()).count());
    if (!wire::write_frame(out, report) || !write_counts(p, out) || !wire::write_ack(out, ack_scratch_)) {
        out.rewind(start);
        if (!write_counts(p, out) || !write_short_ack(out)) {
            out.rewind(start);
            p.acks.put_back();
            return;
        }
    }
    add(packet.control, Control::ack);
    packet.ack_largest = ack_scratch_.largest();
}

/// Writes the counts of marks if the peer may not know them. False: they do not fit.
bool Connection::Impl::write_counts(const PathContext& p, wire::Writer& out) const {
    if (!p.ecn_receipts.due()) return true;
    const recovery::EcnCounts& counts = p.ecn_receipts.counts();
    return wire::write_frame(out,
                             wire::EcnFrame{.path = p.id, .ect0 = counts.ect0, .ect1 = counts.ect1, .ce = counts.ce});
}

/// If an ACK finds little room, only its newest ranges are written.
bool Connection::Impl::write_short_ack(wire::Writer& out) {
    ack_scratch_.count = std::min(ack_scratch_.count, kFewAckRanges);
    ack_scratch_.arrival_count = 0;
    return wire::write_ack(out, ack_scratch_);
}

/// Writes CLOSE and, before it, an ACK for each path. The peer ignores frames behind CLOSE, and gives up what is not
/// acknowledged by then. Each copy has the ACKs, because any copy may be the first to arrive.
void Connection::Impl::fill_close(Instant now, const wire::CloseFrame& close, bool acks, wire::Writer& out) {
    const std::size_t reserved = kCloseBytes + close.reason.size();
    for (const auto& p : paths_.all()) {
        if (!acks || !p->acks.build(now, kMaxAckRangesSent, ack_scratch_)) continue;
        const std::size_t start = out.size();
        if (wire::write_ack(out, ack_scratch_) && out.room() >= reserved) continue;
        out.rewind(start);
        if (write_short_ack(out) && out.room() < reserved) out.rewind(start);
    }
    (void)wire::write_frame(out, close);
}

/// Writes ACKs of paths that do not carry their own at present. If no other path works, these leave on the path itself.
void Connection::Impl::fill_ack_elsewhere(Instant now, wire::Writer& out) {
    for (const auto& other : paths_.all()) {
        if (!other->ack_elsewhere) continue;
        const std::size_t start = out.size();
        const bool built = other->acks.build(now, kMaxAckRangesSent, ack_scratch_);
        if (built && !(write_counts(*other, out) && (wire::write_ack(out, ack_scratch_) || write_short_ack(out)))) {
            out.rewind(start);
            other->acks.put_back();
            return;
        }
        other->ack_elsewhere = false;
    }
}

void Connection::Impl::fill_shared(wire::Writer& out, SentPacket& packet) {
    const auto note = [&packet](Control bit, PathId path) {
        add(packet.control, bit);
        packet.control_path = path;
        packet.ack_eliciting = true;
    };
    if (handshake_done_due_ && wire::write_frame(out, wire::HandshakeDoneFrame{})) {
        handshake_done_due_ = false;
        note(Control::handshake_done, packet.control_path);
    }
    // The state of one path per packet, because SentPacket remembers only one.
    if (!abandons_due_.empty()) {
        const Abandon abandon = abandons_due_.back();
        if (!wire::write_frame(out, wire::PathAbandonFrame{abandon.path, abandon.code})) return;
        abandons_due_.pop_back();
        note(Control::path_abandon, abandon.path);
        return;
    }
    for (const auto& p : paths_.all()) {
        if (!p->status_due) continue;
        const auto status = p->state == PathState::suspended ? wire::PathStatus::suspended
                            : p->options.standby             ? wire::PathStatus::standby
                                                             : wire::PathStatus::available;
        const auto weight = static_cast<std::uint64_t>(std::clamp(p->options.weight, 0.0, 1e6) * 1000.0);
        const wire::PathStatusFrame frame{
            .path = p->id, .status = status, .sequence = p->status_sent, .weight = weight};
        if (!wire::write_frame(out, frame)) return;
        ++p->status_sent;
        p->status_due = false;
        note(Control::path_status, p->id);
        return;
    }
}

/// Writes the bytes that another path was given last, or a PING if they have all arrived.
void Connection::Impl::fill_duplicate(const PathContext& p, wire::Writer& out, SentPacket& packet) {
    const bool other = last_given_ && last_given_->path != p.id && watch_.allows_probe(last_given_->range.length);
    if (other) (void)streams_.fill_copy(last_given_->range, out, packet);
    if (packet.range_count > 0) return;
    if (wire::write_frame(out, wire::PingFrame{})) packet.ack_eliciting = true;
}

void Connection::Impl::fill_payload(Instant now, PathContext& p, const PacketPlan& plan, wire::Writer& w,
                                    SentPacket& packet) {
    if (plan.close != nullptr) return fill_close(now, *plan.close, plan.acks, w);
    if (plan.acks) fill_acks(now, p, w, packet);
    if (plan.mtu_probe && wire::write_frame(w, wire::PingFrame{})) packet.ack_eliciting = true;
    if (plan.challenge && wire::write_frame(w, wire::PathChallengeFrame{*plan.challenge})) packet.ack_eliciting = true;
    if (!plan.eliciting || !plan.acks) return;
    const auto note = [&packet](Control bit) {
        add(packet.control, bit);
        packet.ack_eliciting = true;
    };
    if (p.response_due && wire::write_frame(w, wire::PathResponseFrame{*p.response_due})) {
        p.response_due.reset();
        note(Control::path_response);
    }
    if (p.ping_due && wire::write_frame(w, wire::PingFrame{})) {
        p.ping_due = false;
        note(Control::ping);
    }
    if (plan.shared) {
        fill_ack_elsewhere(now, w);
        fill_shared(w, packet);
        streams_.fill_control(w, packet);
    }
    if constexpr (kFuture) {
        if (packet.number % 16 == 3 && wire::write_frame(w, wire::ExtensionFrame{kFutureFrame, {}})) {
            packet.ack_eliciting = true;
        }
    }
    if (plan.late != nullptr) {
        const auto& what = plan.late->what;
        plan.late->done = streams_.fill_copy({.stream = plan.late->stream,
                                              .offset = what.range.begin,
                                              .length = static_cast<std::uint32_t>(what.range.size()),
                                              .again = what.entry.again,
                                              .recorded = true,
                                              .record_path = what.entry.path,
                                              .record = what.entry.number},
                                             w, packet);
    } else if (plan.duplicate) {
        fill_duplicate(p, w, packet);
    } else if (plan.data) {
        streams_.fill_data(w, packet, plan.from);
    }
    if (p.probes > 0) {
        if (!packet.ack_eliciting && wire::write_frame(w, wire::PingFrame{})) packet.ack_eliciting = true;
        --p.probes;
    }
}

std::size_t Connection::Impl::build_packet(Instant now, PathContext& p, std::span<std::byte> out,
                                           const PacketPlan& plan) {
    if (plan.size > out.size()) return 0;
    const bool bare = plan.mtu_probe || plan.challenge || plan.close != nullptr;
    if (!bare && !plan.pair_second && --p.skip_in == 0) {
        p.recovery.skip_number();
        p.skip_in = draw_skip();
    }
    SentPacket packet;
    packet.number = p.recovery.next_number();
    // The header is written first, because the cipher starts with it. Otherwise it would wait for all stores of the
    // payload.
    wire::ShortHeader header;
    header.destination = handshake_.remote_id();
    header.path = p.id;
    header.packet_number = static_cast<std::uint32_t>(packet.number);
    header.key_phase = keys_->key_phase();
    header.pair_second = plan.pair_second;
    wire::write_short_header(header, out);

    wire::Writer w(out.subspan(wire::kShortHeaderBytes, plan.size - wire::kShortHeaderBytes - wire::kTagBytes));
    fill_payload(now, p, plan, w, packet);
    if (w.size() == 0) return 0;
    if (plan.pad) w.zeros(w.room());
    const std::size_t size = wire::kShortHeaderBytes + w.size() + wire::kTagBytes;
    if (deps_.packet_threads == 0) {
        keys_->seal(p.id, packet.number, out.first(size), wire::kShortHeaderBytes);
    } else {
        keys_->note_sealed(p.id, packet.number);
        if (!unsealed_) unsealed_ = packet.number;
    }

    packet.sent = now;
    packet.bytes = static_cast<std::uint32_t>(size);
    packet.in_flight = packet.ack_eliciting;
    // A packet that only tests whether the path works says nothing about congestion.
    packet.mtu_probe = plan.mtu_probe || p.state != PathState::active;
    packet.ecn_marked = plan.mark;
    note_sent(now, p, packet);
    return size;
}

void Connection::Impl::note_sent(Instant now, PathContext& p, SentPacket& packet) {
    ++p.figures.sent_packets;
    p.figures.sent_bytes += packet.bytes;
    if (packet.retransmission) ++p.figures.retransmitted_packets;
    if (packet.ecn_marked) p.ecn.on_sent();
    if (packet.in_flight) {
        last_sent_eliciting_ = now;
        p.last_eliciting = now;
        p.recovery.set_application_limited(false);
        p.congestion->on_sent({now, packet.number, packet.bytes, p.in_flight()});
        p.pacer.on_sent(now, packet.bytes);
        if (!paths_.single()) {
            total_.on_sent(now, packet.bytes);
            if (watching()) watch_.on_sent(now, p.id, p.recovery.rtt().smoothed(), packet);
            if (packet.range_count > 0 && !packet.ranges[0].copy) last_given_ = Given{p.id, packet.ranges[0]};
        }
    }
    p.recovery.on_sent(packet);
    if (p.stretch_acks) p.stretch_acks->on_sent(packet.number);
    if (packet.range_count > 0) {
        p.acks.pace().on_data_sent(now, packet.bytes);
    } else if (!packet.mtu_probe) {
        p.acks.pace().on_sent(now, packet.bytes);
    }
}

static crypto::Aead& aead_of(const crypto::PacketKey& key, std::size_t thread) {
    return thread == 0 ? *key.aead : *key.packet_threads.at(thread - 1);
}

void seal_batch(const Transmit& transmit, std::span<std::byte> batch, std::size_t thread) {
    assert(transmit.key != nullptr && transmit.segment > 0);
    crypto::Aead& aead = aead_of(*transmit.key, thread);
    for (std::size_t at = 0; at < batch.size(); at += transmit.segment) {
        const auto packet = batch.subspan(at, std::min(transmit.segment, batch.size() - at));
        const auto header = wire::parse_short_header(packet);
        assert(header);
        // The header has only the low bits of the number. Numbers ascend within a batch.
        const PacketNumber number = wire::expand_packet_number(header->packet_number, transmit.first_number);
        aead.seal(crypto::make_nonce(transmit.key->iv, transmit.path, number), packet, wire::kShortHeaderBytes);
    }
}

void open_packet(const Opening& opening, RxDatagram& datagram, std::size_t thread) {
    if (wire::is_long_header(datagram.data)) return;
    const auto header = wire::parse_short_header(datagram.data);
    if (!header || header->destination != opening.destination || header->path != opening.path ||
        header->key_phase != opening.key_phase) {
        return;
    }
    const PacketNumber number = wire::expand_packet_number(header->packet_number, opening.expected);
    const auto nonce = crypto::make_nonce(opening.key->iv, opening.path, number);
    const bool authentic = aead_of(*opening.key, thread).open(nonce, datagram.data, wire::kShortHeaderBytes);
    datagram.opened = Opened{opening.key.get(), number, authentic};
}

}  // namespace udtx::proto
