#include <algorithm>
#include <cassert>

#include "wire/codec.hpp"

namespace udtx::wire {

namespace {

bool put_type(Writer& out, FrameType type) { return out.u8(static_cast<std::uint8_t>(type)); }

bool put_data(Writer& out, std::span<const std::byte> data) { return out.varint(data.size()) && out.bytes(data); }

// One overload a frame; on false the caller takes back what was written.
bool put(Writer& out, const PaddingFrame& f) { return f.length > 0 && out.zeros(f.length); }

bool put(Writer& out, const PingFrame&) { return put_type(out, FrameType::ping); }

// Newest first, each as the distance from the one before (the first: from the largest acknowledged).
bool put_arrivals(Writer& out, const AckFrame& f) {
    assert(f.arrival_count <= kMaxAckArrivals);
    if (!out.varint(f.arrival_count)) return false;
    PacketNumber above = f.largest();
    for (std::size_t i = f.arrival_count; i != 0; --i) {
        const AckArrival& arrival = f.arrivals[i - 1];
        assert(arrival.number <= above);
        if (arrival.before_us > kMaxMicroseconds) return false;
        if (!out.varint(above - arrival.number) || !out.varint(arrival.before_us)) return false;
        above = arrival.number;
    }
    return true;
}

bool put(Writer& out, const AckFrame& f) {
    assert(f.count >= 1 && f.count <= kMaxAckRanges);
    const AckRange& top = f.ranges[0];
    if (f.delay_us > kMaxMicroseconds || !put_type(out, f.arrival_count > 0 ? FrameType::ack_timed : FrameType::ack) ||
        !out.u8(f.path.value) || !out.varint(f.delay_us) || !out.varint(top.last) || !out.varint(f.count - 1) ||
        !out.varint(top.last - top.first)) {
        return false;
    }
    for (std::size_t i = 1; i < f.count; ++i) {
        const AckRange& range = f.ranges[i];
        const PacketNumber above = f.ranges[i - 1].first;
        assert(range.first <= range.last && range.last + 2 <= above);
        if (!out.varint(above - range.last - 2) || !out.varint(range.last - range.first)) return false;
    }
    return f.arrival_count == 0 || put_arrivals(out, f);
}

bool put(Writer& out, const AckFrameView& f) { return put(out, *f.frame); }

bool put(Writer& out, const CryptoFrame& f) {
    return put_type(out, FrameType::crypto) && out.varint(f.offset) && put_data(out, f.data);
}

bool put(Writer& out, const StreamFrame& f) {
    return put_type(out, f.fin ? FrameType::stream_fin : FrameType::stream) && out.varint(f.id.value) &&
           out.varint(f.offset) && put_data(out, f.data);
}

bool put(Writer& out, const MaxStreamsFrame& f) { return put_type(out, FrameType::max_streams) && out.varint(f.limit); }
bool put(Writer& out, const MaxDataFrame& f) { return put_type(out, FrameType::max_data) && out.varint(f.limit); }

bool put(Writer& out, const MaxStreamDataFrame& f) {
    return put_type(out, FrameType::max_stream_data) && out.varint(f.id.value) && out.varint(f.limit);
}

bool put(Writer& out, const ResetStreamFrame& f) {
    return put_type(out, FrameType::reset_stream) && out.varint(f.id.value) && out.varint(f.code) &&
           out.varint(f.final_size);
}

bool put(Writer& out, const StopSendingFrame& f) {
    return put_type(out, FrameType::stop_sending) && out.varint(f.id.value) && out.varint(f.code);
}

bool put(Writer& out, const RateFeedbackFrame& f) {
    return f.pair_bytes <= kMaxPairBytes && f.receive_time_us <= kMaxMicroseconds &&
           put_type(out, FrameType::rate_feedback) && out.u8(f.path.value) && out.varint(f.arrival_pps) &&
           out.varint(f.capacity_pps) && out.varint(f.pair_gap_ns) && out.varint(f.pair_bytes) &&
           out.varint(f.line_pps) && out.varint(f.receive_time_us);
}

bool put(Writer& out, const PathChallengeFrame& f) {
    return put_type(out, FrameType::path_challenge) && out.u64(f.data);
}

bool put(Writer& out, const PathResponseFrame& f) { return put_type(out, FrameType::path_response) && out.u64(f.data); }

bool put(Writer& out, const HandshakeDoneFrame&) { return put_type(out, FrameType::handshake_done); }

bool put(Writer& out, const CloseFrame& f) {
    const auto reason = std::as_bytes(std::span(f.reason.data(), f.reason.size()));
    return reason.size() <= kMaxCloseReason && put_type(out, FrameType::close) && out.u8(f.application ? 1 : 0) &&
           out.varint(f.code) && put_data(out, reason);
}

bool put(Writer& out, const PathStatusFrame& f) {
    return f.weight <= kMaxPathWeight && put_type(out, FrameType::path_status) && out.u8(f.path.value) &&
           out.u8(static_cast<std::uint8_t>(f.status)) && out.varint(f.sequence) && out.varint(f.weight);
}

bool put(Writer& out, const PathAbandonFrame& f) {
    return put_type(out, FrameType::path_abandon) && out.u8(f.path.value) && out.varint(f.code);
}

template <class T>
bool put_or_rewind(Writer& out, const T& frame) {
    const std::size_t start = out.size();
    if (put(out, frame)) return true;
    out.rewind(start);
    return false;
}

}  // namespace

bool write_frame(Writer& out, const Frame& frame) {
    return std::visit([&out](const auto& f) { return put_or_rewind(out, f); }, frame);
}

bool write_ack(Writer& out, const AckFrame& frame) { return put_or_rewind(out, frame); }

StreamRoom write_stream_header(Writer& out, StreamId id, std::uint64_t offset, std::size_t length, bool fin) {
    assert(id.value <= kVarintMax && offset <= kVarintMax && length <= kVarintMax - offset);
    const std::size_t before_length = 1 + varint_bytes(id.value) + varint_bytes(offset);
    if (out.room() < before_length) return {};
    const std::size_t room = out.room() - before_length;
    const bool to_end = length >= room;
    // A length that does not fit behind its own field is cut, and the field may come out one size too large for it.
    const std::size_t field = to_end ? 0 : varint_bytes(length);
    if (room < field + (length > 0 ? 1 : 0)) return {};
    const std::size_t payload = std::min(length, room - field);

    StreamRoom result{{}, true, fin && payload == length};
    if (to_end) {
        put_type(out, result.fin ? FrameType::stream_to_end_fin : FrameType::stream_to_end);
    } else {
        put_type(out, result.fin ? FrameType::stream_fin : FrameType::stream);
    }
    out.varint(id.value);
    out.varint(offset);
    if (!to_end) out.padded_varint(payload, field);
    result.payload = out.reserve(payload);
    return result;
}

}  // namespace udtx::wire
