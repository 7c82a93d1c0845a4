// Converts frames to bytes and back.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "udtx/result.hpp"
#include "wire/cursor.hpp"
#include "wire/frame.hpp"

namespace udtx::wire {

/// Reads the next frame. Spans in the frame point into the reader's buffer. A run of padding is returned as one frame.
/// An ACK is decoded into `scratch`; the frame holds a view of it, valid until `scratch` is used again. Returns
/// malformed for an unknown type, a truncated frame, ACK ranges below zero or more than kMaxAckRanges, or a value above
/// its bound.
[[nodiscard]] Result<Frame> read_frame(Reader& in, AckFrame& scratch);

/// write_frame() and write_ack() return false and write nothing if the frame does not fit or a value is above its
/// bound.
[[nodiscard]] bool write_frame(Writer& out, const Frame& frame);
[[nodiscard]] bool write_ack(Writer& out, const AckFrame& frame);

/// Result of write_stream_header(), which writes the header of a STREAM frame for up to `length` bytes. `payload` is
/// the room for the payload, shortened to what fits; the caller fills it. Nothing is written if not even one byte (for
/// length 0: the header) fits. `out` must end where the packet ends: a frame that reaches the end of `out` carries no
/// length.
struct StreamRoom {
    std::span<std::byte> payload;
    bool written = false;
    bool fin = false;  ///< the frame carries FIN: the caller asked for it, and the payload was not shortened
};
[[nodiscard]] StreamRoom write_stream_header(Writer& out, StreamId id, std::uint64_t offset, std::size_t length,
                                             bool fin);

}  // namespace udtx::wire
