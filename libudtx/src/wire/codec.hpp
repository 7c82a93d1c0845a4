// Frames to bytes and back.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "udtx/result.hpp"
#include "wire/cursor.hpp"
#include "wire/frame.hpp"

namespace udtx::wire {

/// Reads the next frame. Spans in the frame point into the reader's buffer. Runs of padding come as one frame.
/// An ACK is decoded into `scratch` and the frame holds a view of it, good until `scratch` is used again.
/// malformed: unknown type, truncated, ACK ranges that underflow or exceed kMaxAckRanges, value over its bound.
[[nodiscard]] Result<Frame> read_frame(Reader& in, AckFrame& scratch);

/// Each returns false, with nothing written, when the frame does not fit or a value is over its bound.
[[nodiscard]] bool write_frame(Writer& out, const Frame& frame);
[[nodiscard]] bool write_ack(Writer& out, const AckFrame& frame);

/// Writes a STREAM frame header for up to `length` bytes and returns the room for the payload, shortened to what
/// fits. Nothing is written when not even one byte (or, for length 0, the header) fits. The caller fills `payload`.
/// The end of `out` must be the end of the packet: a frame that reaches it carries no length.
struct StreamRoom {
    std::span<std::byte> payload;
    bool written = false;
    bool fin = false;  ///< the frame carries FIN: asked for, and the payload was not shortened
};
[[nodiscard]] StreamRoom write_stream_header(Writer& out, StreamId id, std::uint64_t offset, std::size_t length,
                                             bool fin);

}  // namespace udtx::wire
