// The sending side of StreamTable: what goes into a packet, and what becomes of it.
#include <algorithm>

#include "proto/stream_table.hpp"

namespace udtx::proto {

using recovery::Control;
using recovery::SentPacket;
using recovery::SentRange;

bool StreamTable::control_pending(const Stream& s) const {
    const bool limit = s.receives && !s.recv.stopped() && !s.recv.was_reset() && (s.limit_lost || s.recv.limit_due());
    return limit || s.reset_due || s.stop_due;
}

bool StreamTable::data_pending() const {
    return std::any_of(order_.begin(), order_.end(),
                       [this](const Stream* s) { return s->sends && s->send.pending(new_credit()); });
}

bool StreamTable::waits_for_credit() const {
    return std::any_of(order_.begin(), order_.end(), [](const Stream* s) { return s->sends && s->send.waiting() > 0; });
}

bool StreamTable::limits_pending() const {
    const bool limit =
        consumed_ + config_.connection_window >= max_data_ + stream::credit_step(config_.connection_window);
    return limit || max_data_lost_ || max_streams_due_;
}

bool StreamTable::control_pending() const {
    return limits_pending() ||
           std::any_of(order_.begin(), order_.end(), [this](const Stream* s) { return control_pending(*s); });
}

bool StreamTable::pending() const {
    return limits_pending() || std::any_of(order_.begin(), order_.end(), [this](const Stream* s) {
               return control_pending(*s) || (s->sends && s->send.pending(new_credit()));
           });
}

void StreamTable::fill_limits(wire::Writer& out, SentPacket& packet) {
    const std::uint64_t limit = consumed_ + config_.connection_window;
    if ((max_data_lost_ || limit >= max_data_ + stream::credit_step(config_.connection_window)) &&
        wire::write_frame(out, wire::MaxDataFrame{std::max(max_data_, limit)})) {
        max_data_ = std::max(max_data_, limit);
        max_data_lost_ = false;
        packet.control = packet.control | Control::max_data;
        packet.ack_eliciting = true;
    }
    const std::uint64_t streams = peer_closed_ + config_.max_streams;
    if (max_streams_due_ && wire::write_frame(out, wire::MaxStreamsFrame{streams})) {
        max_streams_ = std::max(max_streams_, streams);
        max_streams_due_ = false;
        packet.control = packet.control | Control::max_streams;
        packet.ack_eliciting = true;
    }
}

void StreamTable::fill_stream_control(Stream& s, wire::Writer& out, SentPacket& packet) {
    const auto note = [&](Control bit) {
        packet.control = packet.control | bit;
        packet.control_stream = s.id;
        packet.ack_eliciting = true;
    };
    const bool receiving = s.receives && !s.recv.stopped() && !s.recv.was_reset();
    if (receiving && (s.limit_lost || s.recv.limit_due()) &&
        wire::write_frame(out, wire::MaxStreamDataFrame{s.id, s.recv.advertise()})) {
        s.limit_lost = false;
        note(Control::max_stream_data);
    }
    if (s.reset_due && wire::write_frame(out, wire::ResetStreamFrame{s.id, s.reset_code, s.send.highest()})) {
        s.reset_due = false;
        note(Control::reset_stream);
    }
    if (s.stop_due && wire::write_frame(out, wire::StopSendingFrame{s.id, s.stop_code})) {
        s.stop_due = false;
        note(Control::stop_sending);
    }
}

bool StreamTable::fill_one(Stream& s, wire::Writer& out, SentPacket& packet, std::uint64_t from) {
    if (packet.range_count == recovery::kMaxRanges || out.room() == 0) return false;
    auto piece = s.send.next(out.room(), new_credit(), from);
    if (!piece) return false;
    const auto room = wire::write_stream_header(out, s.id, piece->offset, piece->length, piece->fin);
    if (!room.written) return false;
    piece->cut(room.payload.size());
    s.send.copy(piece->offset, room.payload);
    s.send.on_sent(*piece);
    if (piece->again) {
        counters_.bytes_resent += piece->length;
        packet.retransmission = true;
    } else {
        counters_.bytes_sent += piece->length;
        sent_new_ += piece->growth;
        if (s.send.unsent_bytes() == 0) s.write_ahead.on_empty();
        tell_writable(s);
    }
    packet.ranges[packet.range_count++] = {.stream = s.id,
                                           .offset = piece->offset,
                                           .length = static_cast<std::uint32_t>(piece->length),
                                           .fin = piece->fin,
                                           .again = piece->again};
    packet.ack_eliciting = true;
    return true;
}

void StreamTable::fill_control(wire::Writer& out, SentPacket& packet) {
    fill_limits(out, packet);
    for (Stream* s : order_) {
        if (!control_pending(*s)) continue;
        fill_stream_control(*s, out, packet);
        retire_if_done(s->id);  // a stopped one may have waited for that alone
        break;                  // one stream's control frames a packet: SentPacket remembers one
    }
}

// Without a division: this is done for each packet.
std::size_t StreamTable::place_after_turn(std::size_t i) const noexcept {
    const std::size_t at = (turn_ < order_.size() ? turn_ : 0) + i;
    return at < order_.size() ? at : at - order_.size();
}

const StreamTable::Stream* StreamTable::next_to_send() const {
    const std::size_t count = order_.size();
    for (const StreamKind kind : {StreamKind::ordered, StreamKind::placed}) {
        for (std::size_t i = 0; i < count; ++i) {
            const Stream* s = order_[place_after_turn(i)];
            if (s->id.kind() == kind && s->sends && s->send.pending(new_credit())) return s;
        }
    }
    return nullptr;
}

StreamDemand StreamTable::describe(const Stream& s) const {
    StreamDemand demand;
    demand.kind = s.id.kind();
    demand.again = s.send.lost_waits();
    demand.next = s.send.sent();
    demand.ahead = s.send.sent_ahead();
    demand.ahead_bytes = s.send.ahead_bytes();
    demand.data_acked = s.send.acked_below();
    demand.limit = std::min(s.send.limit(), s.send.highest() + new_credit());
    demand.receive_window = peer_stream_window_;
    demand.written = s.send.written();
    demand.remaining = s.send.waiting();
    demand.end_known = s.send.finished();
    return demand;
}

bool StreamTable::arrived(StreamId id, Range range) const {
    const auto found = streams_.find(id.value);
    return found == streams_.end() || found->second->send.unacked(range.begin, range.size()).size() == 0;
}

std::uint64_t StreamTable::outstanding() const noexcept {
    std::uint64_t bytes = 0;
    for (const auto& [index, s] : streams_) bytes += s->send.sent() + s->send.ahead_bytes() - s->send.acked_below();
    return bytes;
}

std::optional<StreamDemand> StreamTable::demand() const {
    const Stream* s = next_to_send();
    if (s == nullptr) return std::nullopt;
    const StreamDemand demand = describe(*s);
    if (!demand.again && demand.next >= std::min(demand.limit, demand.written)) return std::nullopt;
    return demand;
}

StreamDemand StreamTable::demand(StreamId id) const { return describe(*streams_.at(id.value)); }

bool StreamTable::sends(StreamId id) const {
    const auto it = streams_.find(id.value);
    return it != streams_.end() && it->second->sends && !it->second->send.was_reset();
}

std::uint64_t StreamTable::acked_below(StreamId id) const {
    const auto it = streams_.find(id.value);
    return it == streams_.end() ? 0 : it->second->send.acked_below();
}

std::uint64_t StreamTable::fill_copy(const SentRange& range, wire::Writer& out, SentPacket& packet) {
    Stream* s = find(range.stream);
    const std::uint64_t end = range.offset + range.length;
    if (s == nullptr) return end;
    const Range piece = s->send.unacked(range.offset, range.length);
    if (piece.size() == 0) return end;
    if (packet.range_count == recovery::kMaxRanges) return piece.begin;
    const bool fin = s->send.end_sent() && piece.end == s->send.written();
    const auto room = wire::write_stream_header(out, s->id, piece.begin, piece.size(), fin);
    if (!room.written) return piece.begin;
    s->send.copy(piece.begin, room.payload);
    counters_.bytes_resent += room.payload.size();
    SentRange& sent = packet.ranges[packet.range_count++];
    sent = range;
    sent.offset = piece.begin;
    sent.length = static_cast<std::uint32_t>(room.payload.size());
    sent.fin = room.fin;
    sent.copy = true;
    packet.retransmission = true;
    packet.ack_eliciting = true;
    return sent.offset + sent.length;
}

void StreamTable::fill_data(wire::Writer& out, SentPacket& packet, std::uint64_t from) {
    const Stream* first = from > 0 ? next_to_send() : nullptr;
    const std::size_t count = order_.size();
    std::size_t served = count;
    for (const StreamKind kind : {StreamKind::ordered, StreamKind::placed}) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = place_after_turn(i);
            Stream& s = *order_[at];
            if (s.id.kind() != kind || !s.sends) continue;
            while (fill_one(s, out, packet, &s == first ? from : 0)) served = at;
        }
    }
    if (served != count) turn_ = served + 1;
}

void StreamTable::on_acked(const SentPacket& packet) {
    if (has(packet.control, Control::reset_stream)) {
        if (Stream* s = find(packet.control_stream)) {
            s->reset_acked = true;
            retire_if_done(s->id);
        }
    }
    for (std::size_t i = 0; i < packet.range_count; ++i) {
        const SentRange& r = packet.ranges[i];
        Stream* s = r.crypto ? nullptr : find(r.stream);
        if (s == nullptr) continue;
        s->send.on_acked(r.offset, r.length, r.fin);
        tell_writable(*s);
        if (s->send.delivered() && !s->delivered_told) {
            s->delivered_told = true;
            events_.emplace_back(event::StreamDelivered{s->id});
            retire_if_done(s->id);
        }
    }
}

void StreamTable::on_lost(const SentPacket& packet) {
    if (has(packet.control, Control::max_data)) max_data_lost_ = true;
    if (has(packet.control, Control::max_streams)) max_streams_due_ = true;
    if (Stream* s = find(packet.control_stream)) {
        if (has(packet.control, Control::max_stream_data)) s->limit_lost = true;
        if (has(packet.control, Control::reset_stream)) s->reset_due = true;
        if (has(packet.control, Control::stop_sending)) s->stop_due = true;
    }
    for (std::size_t i = 0; i < packet.range_count; ++i) {
        const SentRange& r = packet.ranges[i];
        Stream* s = r.crypto || r.copy ? nullptr : find(r.stream);
        if (s != nullptr) s->send.on_lost(r.offset, r.length, r.fin);
    }
}

}  // namespace udtx::proto
