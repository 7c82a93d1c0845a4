#include "proto/stream_table.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace udtx::proto {

using recovery::Control;
using recovery::SentPacket;
using recovery::SentRange;
using stream::RecvState;
using stream::SendState;

namespace {

// An entry of the list (whose capacity doubles), and a block of the allocator with its header.
constexpr std::uint64_t kEarlyPieceOverhead = 128;

}  // namespace

StreamTable::StreamTable(Role role, const TransportConfig& config, std::deque<Event>& events)
    : role_(role),
      config_(config),
      events_(events),
      max_streams_(config.max_streams),
      window_(config.connection_window),
      max_data_(config.connection_window) {}

StreamTable::Stream& StreamTable::insert(StreamId id) {
    const bool ours = id.opener() == role_;
    const bool both = id.kind() == StreamKind::ordered;
    auto s =
        std::make_unique<Stream>(Stream{.id = id,
                                        .send = stream::SendStream(peer_stream_window_, ours || both),
                                        .recv = stream::RecvStream(id.kind(), config_.stream_window, !ours || both),
                                        .write_ahead = stream::WriteAhead(config_.send_buffer),
                                        .send_buffer = stream::RightSize(config_.send_buffer)});
    Stream& ref = *s;
    order_.push_back(&ref);
    streams_.emplace(id.value, std::move(s));
    return ref;
}

StreamTable::Stream* StreamTable::find(StreamId id) {
    const auto it = streams_.find(id.value);
    return it == streams_.end() ? nullptr : it->second.get();
}

void StreamTable::retire_if_done(StreamId id) {
    Stream* s = find(id);
    if (s == nullptr) return;
    if (!s->send.over() || !s->recv.over() || has(s->due, Control::stop_sending)) return;
    std::erase(order_, s);
    if (id.opener() != role_) {
        ++peer_closed_;
        max_streams_due_ =
            max_streams_due_ || peer_closed_ + config_.max_streams >= max_streams_ + 1 + config_.max_streams / 4;
    }
    streams_.erase(id.value);
}

// --- application

std::uint64_t StreamTable::held_bytes() const {
    std::uint64_t bytes = early_held_;
    for (const auto& [id, stream] : streams_) bytes += stream->recv.held() + stream->send.held();
    return bytes;
}

Result<StreamId> StreamTable::open(StreamKind kind) {
    if (next_index_ >= peer_max_streams_) {
        return Error{ErrorCode::refused, "the peer allows no more than " + std::to_string(peer_max_streams_) +
                                             " streams at once; finish one first"};
    }
    const StreamId id = StreamId::make(next_index_++, kind, role_);
    insert(id);
    return id;
}

std::uint64_t StreamTable::capacity(StreamId id, const Room& room) {
    Stream* s = find(id);
    if (s == nullptr || s->send.state() != SendState::ready) return 0;
    const std::uint64_t held = s->send.buffered();
    const std::uint64_t waiting = s->send.unsent_bytes();
    s->buffer = std::min(s->send_buffer.size(), room.unacked);
    const std::uint64_t most = std::min(s->buffer, std::max(s->write_ahead.most(), room.ahead));
    if (held < s->buffer && waiting < most) return std::min(s->buffer - held, most - waiting);
    s->write_ahead.on_full();
    s->writer_waits = most / 2;
    return 0;
}

void StreamTable::tell_writable(Stream& s) {
    if (!s.writer_waits || s.send.buffered() > s.buffer - s.buffer / 4) return;
    if (s.send.unsent_bytes() > *s.writer_waits) return;
    s.writer_waits.reset();
    s.write_ahead.on_room();
    events_.push_back(event::Writable{s.id});
}

Result<void> StreamTable::write(StreamId id, Chunk chunk) {
    Stream* s = find(id);
    if (s == nullptr || s->send.state() != SendState::ready) {
        return Error{ErrorCode::invalid_argument, "write on a stream that is not open for writing"};
    }
    s->send.write(std::move(chunk));
    return {};
}

Result<void> StreamTable::finish(StreamId id) {
    Stream* s = find(id);
    if (s == nullptr || s->send.state() == SendState::none)
        return Error{ErrorCode::invalid_argument, "finish on a stream that is not open"};
    s->send.finish();
    return {};
}

template <class Take>
bool StreamTable::read_by(StreamId id, Take take) {
    Stream* s = find(id);
    const bool ordered = id.kind() == StreamKind::ordered;
    if (s == nullptr || !ordered || s->recv.state() == RecvState::none || s->recv.was_reset()) return false;
    const std::uint64_t before = s->recv.consumed();
    take(s->recv);
    consumed_ += s->recv.consumed() - before;
    const bool end = s->recv.over();
    s->readable_told = s->recv.readable();
    if (end) retire_if_done(id);
    return end;
}

ReadResult StreamTable::read(StreamId id, std::span<std::byte> out) {
    ReadResult result;
    result.end = read_by(id, [&](stream::RecvStream& from) { result.bytes = from.read(out); });
    return result;
}

ReadChunk StreamTable::read_chunk(StreamId id) {
    ReadChunk result;
    result.end = read_by(id, [&](stream::RecvStream& from) { result.chunk = from.take(); });
    return result;
}

void StreamTable::release(StreamId id, std::uint64_t bytes) {
    Stream* s = find(id);
    if (s == nullptr || s->recv.was_reset()) return;
    const std::uint64_t before = s->recv.consumed();
    s->recv.release(bytes);
    consumed_ += s->recv.consumed() - before;
    retire_if_done(id);
}

void StreamTable::reset(StreamId id, std::uint64_t code) {
    Stream* s = find(id);
    if (s == nullptr || s->send.over() || s->send.is_reset()) return;
    s->send.reset();
    s->reset_code = code;
    add(s->due, Control::reset_stream);
}

void StreamTable::stop(StreamId id, std::uint64_t code) {
    Stream* s = find(id);
    if (s == nullptr || s->recv.stopped()) return;
    // A peer that has sent everything need not be told.
    const auto state = s->recv.state();
    if (state == RecvState::recv || state == RecvState::size_known) add(s->due, Control::stop_sending);
    const std::uint64_t before = s->recv.consumed();
    s->recv.stop();
    consumed_ += s->recv.consumed() - before;
    s->stop_code = code;
    retire_if_done(id);
}

void StreamTable::drop_bytes() {
    for (const auto& [id, s] : streams_) {
        s->send.reset();
        if (s->recv.kind() == StreamKind::ordered) s->recv.stop();  // unordered streams hold none
    }
}

std::uint64_t StreamTable::on_round_trip(double share, std::uint64_t most) {
    std::uint64_t grown = 0;
    const auto bound = [&](std::uint64_t least) { return least + most - std::min(most, grown); };
    window_.on_round_trip(received_highest_, consumed_, share, bound(config_.connection_window));
    grown += window_.grown();
    for (const auto& [id, s] : streams_) {
        // The window of a stream is a part of the connection's.
        s->recv.on_round_trip(share, window_.size());
        if (s->send.is_reset()) continue;
        const std::uint64_t acked = s->send.written() - s->send.buffered();
        s->send_buffer.on_round_trip(s->send.highest(), acked, share, bound(config_.send_buffer));
        grown += s->send_buffer.grown();
    }
    return grown;
}

// --- frames from the peer

void StreamTable::set_peer_limits(const TransportParameters& peer) {
    assert(streams_.empty());
    peer_max_data_ = peer.connection_window;
    peer_stream_window_ = peer.stream_window;
    peer_max_streams_ = peer.max_streams;
}

Result<StreamTable::Stream*> StreamTable::admit(StreamId id, bool peer_sends) {
    if (Stream* s = find(id)) {
        if (peer_sends ? s->recv.state() == RecvState::none : s->send.state() == SendState::none) {
            return Error{ErrorCode::protocol, "frame for a direction that the stream does not have"};
        }
        return s;
    }
    if (id.opener() == role_) {
        if (id.index() >= next_index_) return Error{ErrorCode::protocol, "frame for a stream that was never opened"};
        return static_cast<Stream*>(nullptr);
    }
    if (peer_opened_.contains(id.index())) return static_cast<Stream*>(nullptr);
    if (id.index() >= max_streams_) return Error{ErrorCode::protocol, "peer opened more streams than allowed"};
    if (!peer_sends && id.kind() == StreamKind::unordered) {
        return Error{ErrorCode::protocol, "frame for a direction that the stream does not have"};
    }
    peer_opened_.insert(id.index(), id.index() + 1);
    Stream& s = insert(id);
    events_.push_back(event::StreamOpened{id});
    return &s;
}

Result<void> StreamTable::count_received(std::uint64_t growth) {
    received_highest_ += growth;
    if (received_highest_ <= max_data_) return {};
    return Error{ErrorCode::protocol, "peer sent beyond the connection's flow-control limit"};
}

void StreamTable::tell_readable(Stream& s) {
    if (s.readable_told || !s.recv.readable()) return;
    s.readable_told = true;
    events_.push_back(event::Readable{s.id});
}

void StreamTable::set_sink(PieceSink* sink) {
    sink_ = sink;
    if (sink_ == nullptr) return;
    early_held_ = 0;
    for (const EarlyPiece& piece : std::exchange(early_, {})) sink_->on_piece(piece.id, piece.offset, piece.bytes);
}

void StreamTable::place(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (sink_ != nullptr) {
        sink_->on_piece(id, offset, bytes);
    } else {
        early_.push_back({id, offset, {bytes.begin(), bytes.end()}});
        early_held_ += bytes.size() + kEarlyPieceOverhead;
    }
}

Result<void> StreamTable::on_stream(const wire::StreamFrame& frame) {
    const auto admitted = admit(frame.id, true);
    if (!admitted) return admitted.error();
    if (*admitted == nullptr) return {};
    Stream& s = **admitted;
    const std::uint64_t received = s.recv.received();
    const std::uint64_t consumed = s.recv.consumed();
    const bool complete = s.recv.complete();
    const auto growth = s.recv.on_data(frame.offset, frame.data, frame.fin,
                                       [&](std::uint64_t offset, auto bytes) { place(s.id, offset, bytes); });
    if (!growth) return growth.error();
    if (const auto ok = count_received(*growth); !ok) return ok;
    // The window counts the peer's bytes, not the memory that each small piece takes.
    if (early_held_ > window_.size()) {
        return Error{ErrorCode::protocol, "peer sent too many small pieces ahead"};
    }
    consumed_ += s.recv.consumed() - consumed;
    counters_.bytes_received += s.recv.received() - received;
    tell_readable(s);
    if (s.recv.kind() == StreamKind::unordered && s.recv.complete() && !complete) {
        events_.push_back(event::StreamReceived{s.id, *s.recv.final_size()});
    }
    retire_if_done(frame.id);
    return {};
}

Result<void> StreamTable::on_reset(const wire::ResetStreamFrame& frame) {
    const auto admitted = admit(frame.id, true);
    if (!admitted) return admitted.error();
    if (*admitted == nullptr || (*admitted)->recv.was_reset()) return {};
    Stream& s = **admitted;
    const auto growth = s.recv.on_reset(frame.final_size);
    if (!growth) return growth.error();
    if (const auto ok = count_received(*growth); !ok) return ok;
    consumed_ += s.recv.highest() - s.recv.consumed();
    events_.push_back(event::StreamReset{s.id, frame.code});
    retire_if_done(frame.id);
    return {};
}

Result<void> StreamTable::on_stop(const wire::StopSendingFrame& frame) {
    const auto admitted = admit(frame.id, false);
    if (!admitted) return admitted.error();
    if (*admitted == nullptr || (*admitted)->send.is_reset()) return {};
    events_.push_back(event::StreamStopped{frame.id, frame.code});
    reset(frame.id, frame.code);
    return {};
}

Result<void> StreamTable::on_max_stream_data(const wire::MaxStreamDataFrame& frame) {
    const auto admitted = admit(frame.id, false);
    if (!admitted) return admitted.error();
    if (*admitted != nullptr) (*admitted)->send.raise_limit(frame.limit);
    return {};
}

void StreamTable::on_max_data(std::uint64_t limit) { peer_max_data_ = std::max(peer_max_data_, limit); }
void StreamTable::on_max_streams(std::uint64_t limit) { peer_max_streams_ = std::max(peer_max_streams_, limit); }

// --- frames to the peer

bool StreamTable::limit_due(const Stream& s) {
    return s.recv.wanted() && (has(s.due, Control::max_stream_data) || s.recv.limit_due());
}

bool StreamTable::control_pending(const Stream& s) {
    return limit_due(s) || has(s.due, Control::reset_stream | Control::stop_sending);
}

bool StreamTable::data_pending() const {
    return std::any_of(order_.begin(), order_.end(), [this](const Stream* s) { return s->send.pending(new_credit()); });
}

bool StreamTable::waits_for_credit() const {
    assert(!data_pending());
    return std::any_of(order_.begin(), order_.end(), [](const Stream* s) { return s->send.waiting() > 0; });
}

bool StreamTable::limits_pending() const {
    const bool limit = consumed_ + window_.size() >= max_data_ + stream::credit_step(window_.size());
    return limit || max_data_lost_ || max_streams_due_;
}

bool StreamTable::control_pending() const {
    return limits_pending() ||
           std::any_of(order_.begin(), order_.end(), [](const Stream* s) { return control_pending(*s); });
}

bool StreamTable::pending() const {
    return limits_pending() || std::any_of(order_.begin(), order_.end(), [this](const Stream* s) {
               return control_pending(*s) || s->send.pending(new_credit());
           });
}

void StreamTable::fill_limits(wire::Writer& out, SentPacket& packet) {
    const std::uint64_t limit = consumed_ + window_.size();
    if ((max_data_lost_ || limit >= max_data_ + stream::credit_step(window_.size())) &&
        wire::write_frame(out, wire::MaxDataFrame{std::max(max_data_, limit)})) {
        max_data_ = std::max(max_data_, limit);
        max_data_lost_ = false;
        add(packet.control, Control::max_data);
        packet.ack_eliciting = true;
    }
    const std::uint64_t streams = peer_closed_ + config_.max_streams;
    if (max_streams_due_ && wire::write_frame(out, wire::MaxStreamsFrame{streams})) {
        max_streams_ = std::max(max_streams_, streams);
        max_streams_due_ = false;
        add(packet.control, Control::max_streams);
        packet.ack_eliciting = true;
    }
}

void StreamTable::fill_stream_control(Stream& s, wire::Writer& out, SentPacket& packet) {
    const auto note = [&](Control bit) {
        remove(s.due, bit);
        add(packet.control, bit);
        packet.control_stream = s.id;
        packet.ack_eliciting = true;
    };
    if (limit_due(s) && wire::write_frame(out, wire::MaxStreamDataFrame{s.id, s.recv.advertise()})) {
        note(Control::max_stream_data);
    }
    if (has(s.due, Control::reset_stream) &&
        wire::write_frame(out, wire::ResetStreamFrame{s.id, s.reset_code, s.send.highest()})) {
        note(Control::reset_stream);
    }
    if (has(s.due, Control::stop_sending) && wire::write_frame(out, wire::StopSendingFrame{s.id, s.stop_code})) {
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
        retire_if_done(s->id);  // a stopped stream may have waited for that alone
        break;                  // control frames of one stream per packet: SentPacket remembers one
    }
}

// Avoids a division, because this runs for each packet.
std::size_t StreamTable::place_after_turn(std::size_t i) const noexcept {
    const std::size_t at = (turn_ < order_.size() ? turn_ : 0) + i;
    return at < order_.size() ? at : at - order_.size();
}

const StreamTable::Stream* StreamTable::next_to_send() const {
    const std::size_t count = order_.size();
    for (const StreamKind kind : {StreamKind::ordered, StreamKind::unordered}) {
        for (std::size_t i = 0; i < count; ++i) {
            const Stream* s = order_[place_after_turn(i)];
            if (s->id.kind() == kind && s->send.pending(new_credit())) return s;
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
    demand.end_known = s.send.state() > SendState::ready && !s.send.is_reset();
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

StreamDemand StreamTable::demand(StreamId id) const {
    assert(sends(id));
    return describe(*streams_.at(id.value));
}

bool StreamTable::sends(StreamId id) const {
    const auto it = streams_.find(id.value);
    return it != streams_.end() && it->second->send.state() != SendState::none && !it->second->send.is_reset();
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
    for (const StreamKind kind : {StreamKind::ordered, StreamKind::unordered}) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = place_after_turn(i);
            Stream& s = *order_[at];
            if (s.id.kind() != kind) continue;
            while (fill_one(s, out, packet, &s == first ? from : 0)) served = at;
        }
    }
    if (served != count) turn_ = served + 1;
}

void StreamTable::on_acked(const SentPacket& packet) {
    if (has(packet.control, Control::reset_stream)) {
        if (Stream* s = find(packet.control_stream)) {
            s->send.on_reset_acked();
            retire_if_done(s->id);
        }
    }
    for (std::size_t i = 0; i < packet.range_count; ++i) {
        const SentRange& r = packet.ranges[i];
        Stream* s = r.crypto ? nullptr : find(r.stream);
        if (s == nullptr) continue;
        const bool delivered = s->send.on_acked(r.offset, r.length, r.fin);
        tell_writable(*s);
        if (delivered) {
            events_.emplace_back(event::StreamDelivered{s->id});
            retire_if_done(s->id);
        }
    }
}

void StreamTable::on_lost(const SentPacket& packet) {
    if (has(packet.control, Control::max_data)) max_data_lost_ = true;
    if (has(packet.control, Control::max_streams)) max_streams_due_ = true;
    constexpr Control kOfStream = Control::max_stream_data | Control::reset_stream | Control::stop_sending;
    if (Stream* s = find(packet.control_stream)) add(s->due, packet.control & kOfStream);
    for (std::size_t i = 0; i < packet.range_count; ++i) {
        const SentRange& r = packet.ranges[i];
        Stream* s = r.crypto || r.copy ? nullptr : find(r.stream);
        if (s != nullptr) s->send.on_lost(r.offset, r.length, r.fin);
    }
}

}  // namespace udtx::proto
