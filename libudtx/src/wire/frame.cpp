#include "wire/frame.hpp"

#include <algorithm>
#include <cassert>

#include "base/release.hpp"

namespace udtx::wire {

namespace {

Error malformed(const char* what) { return {ErrorCode::malformed, std::string("frame: ") + what}; }

bool read(Reader& in, std::uint64_t& out) {
    const auto v = in.varint();
    if (!v) return false;
    out = *v;
    return true;
}

bool read(Reader& in, StreamId& out) { return read(in, out.value); }

bool read(Reader& in, std::uint8_t& out) {
    const auto v = in.u8();
    if (!v) return false;
    out = *v;
    return true;
}

bool read(Reader& in, PathId& out) { return read(in, out.value); }

// Reads a length and that many bytes.
bool read(Reader& in, std::span<const std::byte>& out) {
    const auto length = in.varint();
    if (!length || *length > in.remaining()) return false;
    out = *in.bytes(static_cast<std::size_t>(*length));
    return true;
}

template <class... T>
bool read_all(Reader& in, T&... fields) {
    return (read(in, fields) && ...);
}

/// Reads a frame of these fields, which may have any value.
template <class T, auto... Fields>
Result<Frame> read_plain(Reader& in, const char* truncated) {
    T frame;
    if (!read_all(in, frame.*Fields...)) return malformed(truncated);
    return Frame(frame);
}

bool beyond_last_offset(std::uint64_t offset, std::size_t length) { return offset > kVarintMax - length; }

Result<Frame> read_padding(Reader& in) {
    PaddingFrame frame;
    for (; in.peek() == std::uint8_t{0}; ++frame.length) (void)in.u8();
    return Frame(frame);
}

// Ranges are sent as distances (as in RFC 9000, section 19.3.1). These cannot express overlapping, adjacent or
// ascending ranges. So only a range below zero has to be rejected.
Result<Frame> read_ack(Reader& in, AckFrame& frame) {
    frame.count = 0;
    frame.arrival_count = 0;
    std::uint64_t largest = 0;
    std::uint64_t more = 0;
    std::uint64_t length = 0;
    if (!read_all(in, frame.path, frame.delay_us, largest, more, length)) return malformed("ACK truncated");
    if (frame.delay_us > kMaxMicroseconds) return malformed("ACK delay too large");
    if (more >= kMaxAckRanges) return malformed("too many ACK ranges");
    if (length > largest) return malformed("ACK range below zero");
    frame.ranges[0] = {largest - length, largest};
    for (std::size_t i = 1; i <= more; ++i) {
        std::uint64_t gap = 0;
        if (!read_all(in, gap, length)) return malformed("ACK truncated");
        const PacketNumber above = frame.ranges[i - 1].first;
        if (gap + 2 > above || length > above - gap - 2) return malformed("ACK range below zero");
        const PacketNumber last = above - gap - 2;
        frame.ranges[i] = {last - length, last};
    }
    frame.count = static_cast<std::size_t>(more) + 1;
    return Frame(AckFrameView{&frame});
}

Result<Frame> read_ack_timed(Reader& in, AckFrame& frame) {
    auto ack = read_ack(in, frame);
    if (!ack) return ack;
    std::uint64_t count = 0;
    if (!read(in, count)) return malformed("ACK_TIMED truncated");
    if (count == 0 || count > kMaxAckArrivals) return malformed("ACK_TIMED with a wrong number of arrivals");
    PacketNumber below = frame.largest();
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t distance = 0;
        AckArrival& arrival = frame.arrivals[i];
        if (!read_all(in, distance, arrival.before_us)) return malformed("ACK_TIMED truncated");
        if (distance > below) return malformed("ACK_TIMED number below zero");
        if (arrival.before_us > kMaxMicroseconds) return malformed("ACK_TIMED time too large");
        below -= distance;
        arrival.number = below;
    }
    std::reverse(frame.arrivals.begin(), frame.arrivals.begin() + static_cast<std::ptrdiff_t>(count));
    frame.arrival_count = static_cast<std::size_t>(count);
    return ack;
}

Result<Frame> read_crypto(Reader& in) {
    CryptoFrame frame;
    if (!read_all(in, frame.offset, frame.data)) return malformed("CRYPTO truncated");
    if (beyond_last_offset(frame.offset, frame.data.size())) return malformed("CRYPTO offset too large");
    return Frame(frame);
}

Result<Frame> read_stream(Reader& in, std::uint8_t type) {
    StreamFrame frame;
    frame.fin = (type & kStreamFin) != 0;
    const std::size_t offset_bytes = ((type - kStreamTypes) >> kStreamOffsetShift) + 1U;
    if (!read(in, frame.id)) return malformed("STREAM truncated");
    const auto offset = in.bytes(offset_bytes);
    if (!offset) return malformed("STREAM truncated");
    frame.offset = load_big_endian(offset->data(), offset_bytes);
    if ((type & kStreamToEnd) != 0) {
        frame.data = *in.bytes(in.remaining());
    } else if (!read(in, frame.data)) {
        return malformed("STREAM truncated");
    }
    if (beyond_last_offset(frame.offset, frame.data.size())) return malformed("STREAM offset too large");
    return Frame(frame);
}

Result<Frame> read_rate_feedback(Reader& in) {
    RateFeedbackFrame frame;
    std::uint64_t pair_bytes = 0;
    std::uint64_t error = 0;
    std::uint64_t granularity = 0;
    if (!read_all(in, frame.path, frame.arrival_pps, frame.capacity_pps, frame.pair_gap_ns, pair_bytes, frame.line_pps,
                  error, granularity, frame.receive_time_us)) {
        return malformed("RATE_FEEDBACK truncated");
    }
    if (pair_bytes > kMaxPairBytes || error > kWholeError || granularity > kMaxGranularity ||
        frame.receive_time_us > kMaxMicroseconds) {
        return malformed("RATE_FEEDBACK value too large");
    }
    frame.pair_bytes = static_cast<std::uint16_t>(pair_bytes);
    frame.line_error = static_cast<std::uint16_t>(error);
    frame.granularity_us = static_cast<std::uint16_t>(granularity);
    return Frame(frame);
}

template <class T>
Result<Frame> read_path_probe(Reader& in) {
    const auto data = in.u64();
    if (!data) return malformed("path probe truncated");
    return Frame(T{*data});
}

Result<Frame> read_path_status(Reader& in) {
    PathStatusFrame frame;
    std::uint8_t status = 0;
    if (!read_all(in, frame.path, status, frame.sequence, frame.weight)) return malformed("PATH_STATUS truncated");
    if (status > static_cast<std::uint8_t>(PathStatus::suspended)) return malformed("PATH_STATUS of unknown kind");
    if (frame.weight > kMaxPathWeight) return malformed("PATH_STATUS weight too large");
    frame.status = static_cast<PathStatus>(status);
    return Frame(frame);
}

Result<Frame> read_extension(Reader& in, std::uint8_t type) {
    ExtensionFrame frame;
    frame.type = type;
    std::uint64_t release = 0;
    if (type >= kMandatoryTypes && !read(in, release)) return malformed("extension truncated");
    if (!read(in, frame.data)) return malformed("extension truncated");
    if (type >= kMandatoryTypes) return needs_release("a frame", release);
    return Frame(frame);
}

Result<Frame> read_close(Reader& in) {
    CloseFrame frame;
    std::span<const std::byte> reason;
    std::uint8_t application = 0;
    if (!read_all(in, application, frame.code, reason)) return malformed("CLOSE truncated");
    if (application > 1) return malformed("CLOSE of unknown kind");
    if (reason.size() > kMaxCloseReason) return malformed("CLOSE reason too long");
    frame.application = application == 1;
    frame.reason = {reinterpret_cast<const char*>(reason.data()), reason.size()};
    return Frame(frame);
}

bool put_type(Writer& out, FrameType type) { return out.u8(static_cast<std::uint8_t>(type)); }

bool put(Writer& out, std::uint64_t value) { return out.varint(value); }
bool put(Writer& out, StreamId id) { return out.varint(id.value); }
bool put(Writer& out, PathId path) { return out.u8(path.value); }
bool put(Writer& out, std::span<const std::byte> data) { return out.varint(data.size()) && out.bytes(data); }

template <class... T>
bool put_all(Writer& out, FrameType type, const T&... fields) {
    return put_type(out, type) && (put(out, fields) && ...);
}

// One overload for each frame. If it returns false, the caller removes the bytes already written.
bool put(Writer& out, const PaddingFrame& f) { return f.length > 0 && out.zeros(f.length); }

bool put(Writer& out, const PingFrame&) { return put_type(out, FrameType::ping); }

// Writes the newest arrival first. Each number is sent as the distance from the preceding one; the first is the
// distance from the largest acknowledged number.
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
    const FrameType type = f.arrival_count > 0 ? FrameType::ack_timed : FrameType::ack;
    if (f.delay_us > kMaxMicroseconds ||
        !put_all(out, type, f.path, f.delay_us, top.last, f.count - 1, top.last - top.first)) {
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

bool put(Writer& out, const CryptoFrame& f) { return put_all(out, FrameType::crypto, f.offset, f.data); }

/// Type, stream and offset.
bool put_stream_start(Writer& out, std::uint8_t form, StreamId id, std::uint64_t offset) {
    const std::size_t n = varint_bytes(offset);
    return out.u8(static_cast<std::uint8_t>(kStreamTypes | (n - 1) << kStreamOffsetShift | form)) && put(out, id) &&
           out.big_endian(offset, n);
}

bool put(Writer& out, const StreamFrame& f) {
    return put_stream_start(out, f.fin ? kStreamFin : 0, f.id, f.offset) && put(out, f.data);
}

bool put(Writer& out, const EcnFrame& f) { return put_all(out, FrameType::ecn, f.path, f.ect0, f.ect1, f.ce); }

bool put(Writer& out, const ExtensionFrame& f) {
    return f.type >= kExtensionTypes && f.type < kMandatoryTypes && out.u8(f.type) && put(out, f.data);
}

bool put(Writer& out, const MaxStreamsFrame& f) { return put_all(out, FrameType::max_streams, f.limit); }
bool put(Writer& out, const MaxDataFrame& f) { return put_all(out, FrameType::max_data, f.limit); }
bool put(Writer& out, const MaxStreamDataFrame& f) { return put_all(out, FrameType::max_stream_data, f.id, f.limit); }

bool put(Writer& out, const ResetStreamFrame& f) {
    return put_all(out, FrameType::reset_stream, f.id, f.code, f.final_size);
}

bool put(Writer& out, const StopSendingFrame& f) { return put_all(out, FrameType::stop_sending, f.id, f.code); }

bool put(Writer& out, const RateFeedbackFrame& f) {
    return f.line_error <= kWholeError && f.receive_time_us <= kMaxMicroseconds &&
           put_all(out, FrameType::rate_feedback, f.path, f.arrival_pps, f.capacity_pps, f.pair_gap_ns, f.pair_bytes,
                   f.line_pps, f.line_error, f.granularity_us, f.receive_time_us);
}

bool put(Writer& out, const PathChallengeFrame& f) {
    return put_type(out, FrameType::path_challenge) && out.u64(f.data);
}

bool put(Writer& out, const PathResponseFrame& f) { return put_type(out, FrameType::path_response) && out.u64(f.data); }

bool put(Writer& out, const HandshakeDoneFrame&) { return put_type(out, FrameType::handshake_done); }

bool put(Writer& out, const CloseFrame& f) {
    const auto reason = std::as_bytes(std::span(f.reason.data(), f.reason.size()));
    return reason.size() <= kMaxCloseReason && put_type(out, FrameType::close) && out.u8(f.application ? 1 : 0) &&
           put(out, f.code) && put(out, reason);
}

bool put(Writer& out, const PathStatusFrame& f) {
    return f.weight <= kMaxPathWeight && put_type(out, FrameType::path_status) && put(out, f.path) &&
           out.u8(static_cast<std::uint8_t>(f.status)) && put(out, f.sequence) && put(out, f.weight);
}

bool put(Writer& out, const PathAbandonFrame& f) { return put_all(out, FrameType::path_abandon, f.path, f.code); }

template <class T>
bool put_or_rewind(Writer& out, const T& frame) {
    const std::size_t start = out.size();
    if (put(out, frame)) return true;
    out.rewind(start);
    return false;
}

}  // namespace

Result<Frame> read_frame(Reader& in, AckFrame& scratch) {
    const auto type = in.u8();
    if (!type) return malformed("no type");
    if (*type >= kExtensionTypes) return read_extension(in, *type);
    if (*type >= kStreamTypes) return read_stream(in, *type);
    switch (static_cast<FrameType>(*type)) {
        case FrameType::padding:
            return read_padding(in);
        case FrameType::ping:
            return Frame(PingFrame{});
        case FrameType::ack_timed:
            return read_ack_timed(in, scratch);
        case FrameType::ack:
            return read_ack(in, scratch);
        case FrameType::crypto:
            return read_crypto(in);
        case FrameType::max_streams:
            return read_plain<MaxStreamsFrame, &MaxStreamsFrame::limit>(in, "MAX_STREAMS truncated");
        case FrameType::max_data:
            return read_plain<MaxDataFrame, &MaxDataFrame::limit>(in, "MAX_DATA truncated");
        case FrameType::max_stream_data:
            return read_plain<MaxStreamDataFrame, &MaxStreamDataFrame::id, &MaxStreamDataFrame::limit>(
                in, "MAX_STREAM_DATA truncated");
        case FrameType::reset_stream:
            return read_plain<ResetStreamFrame, &ResetStreamFrame::id, &ResetStreamFrame::code,
                              &ResetStreamFrame::final_size>(in, "RESET_STREAM truncated");
        case FrameType::stop_sending:
            return read_plain<StopSendingFrame, &StopSendingFrame::id, &StopSendingFrame::code>(
                in, "STOP_SENDING truncated");
        case FrameType::rate_feedback:
            return read_rate_feedback(in);
        case FrameType::path_challenge:
            return read_path_probe<PathChallengeFrame>(in);
        case FrameType::path_response:
            return read_path_probe<PathResponseFrame>(in);
        case FrameType::handshake_done:
            return Frame(HandshakeDoneFrame{});
        case FrameType::close:
            return read_close(in);
        case FrameType::path_status:
            return read_path_status(in);
        case FrameType::path_abandon:
            return read_plain<PathAbandonFrame, &PathAbandonFrame::path, &PathAbandonFrame::code>(
                in, "PATH_ABANDON truncated");
        case FrameType::ecn:
            return read_plain<EcnFrame, &EcnFrame::path, &EcnFrame::ect0, &EcnFrame::ect1, &EcnFrame::ce>(
                in, "ECN truncated");
    }
    return malformed("unknown type");
}

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
    // A payload that does not fit behind its length field is cut. The field may then be one size larger than needed.
    const std::size_t field = to_end ? 0 : varint_bytes(length);
    if (room < field + (length > 0 ? 1 : 0)) return {};
    const std::size_t payload = std::min(length, room - field);

    StreamRoom result{{}, true, fin && payload == length};
    put_stream_start(out, static_cast<std::uint8_t>((result.fin ? kStreamFin : 0) | (to_end ? kStreamToEnd : 0)), id,
                     offset);
    if (!to_end) out.padded_varint(payload, field);
    result.payload = out.reserve(payload);
    return result;
}

}  // namespace udtx::wire
