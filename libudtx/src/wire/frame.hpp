// Frames, the parts of a packet's payload: one struct for each, without behaviour. Layouts: docs/inside/wire-format.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "udtx/ids.hpp"
#include "udtx/result.hpp"
#include "wire/cursor.hpp"

namespace udtx::wire {

enum class FrameType : std::uint8_t {
    padding = 0x00,
    ping = 0x01,
    ack = 0x02,
    crypto = 0x03,
    ack_timed = 0x04,
    max_data = 0x0a,
    max_stream_data = 0x0b,
    reset_stream = 0x0c,
    stop_sending = 0x0d,
    rate_feedback = 0x0e,
    max_streams = 0x0f,
    path_challenge = 0x10,
    path_response = 0x11,
    handshake_done = 0x12,
    close = 0x13,
    path_status = 0x14,
    path_abandon = 0x15,
    ecn = 0x16,
};

// STREAM has the types from kStreamTypes to kExtensionTypes - 1, which tell the form of its fields.
inline constexpr std::uint8_t kStreamTypes = 0x20;
inline constexpr std::uint8_t kStreamFin = 0x01;
inline constexpr std::uint8_t kStreamToEnd = 0x02;  ///< no length: the data ends where the packet ends
inline constexpr unsigned kStreamOffsetShift = 2;   ///< of the number of bytes of the offset, minus one
/// Frames of later releases have types from here on, and a length. A reader skips those that it does not know ...
inline constexpr std::uint8_t kExtensionTypes = 0x40;
/// ... but not from here on: these also name the release that knows them.
inline constexpr std::uint8_t kMandatoryTypes = 0x80;

/// Most ACK ranges that a frame may carry. A frame with more is malformed.
inline constexpr std::size_t kMaxAckRanges = 256;
/// Most arrival times that an ACK may carry. A frame with more is malformed.
inline constexpr std::size_t kMaxAckArrivals = 16;
/// While packets arrive without a gap, at most one in kArrivalEvery arrival times is reported.
inline constexpr PacketNumber kArrivalEvery = 8;
/// Largest time in microseconds. With this bound, the difference of any two one-way delays made of such times fits a
/// Duration (nanoseconds in 63 bits).
inline constexpr std::uint64_t kMaxMicroseconds = (1ULL << 52U) - 1;
inline constexpr std::uint64_t kMaxPairBytes = 65535;
inline constexpr std::uint64_t kMaxGranularity = 65535;  // us
inline constexpr std::uint16_t kWholeError = 1000;
inline constexpr std::size_t kMaxCloseReason = 256;
/// Path weights are sent in thousandths.
inline constexpr std::uint64_t kMaxPathWeight = 1'000'000'000;

/// Closed interval of packet numbers.
struct AckRange {
    PacketNumber first = 0;
    PacketNumber last = 0;
    friend constexpr bool operator==(AckRange, AckRange) noexcept = default;
};

/// Arrival time of a packet, as the time before the arrival of the largest acknowledged packet.
struct AckArrival {
    PacketNumber number = 0;
    std::uint64_t before_us = 0;  ///< at most kMaxMicroseconds
    friend constexpr bool operator==(AckArrival, AckArrival) noexcept = default;
};

struct PaddingFrame {
    std::size_t length = 1;
};
struct PingFrame {};
struct AckFrame {
    PathId path;
    /// How long the receiver held back the ACK of the largest number, in microseconds; at most kMaxMicroseconds.
    std::uint64_t delay_us = 0;
    /// Ranges in descending order, disjoint and not adjacent; ranges[0].last is the largest acknowledged. count >= 1.
    std::array<AckRange, kMaxAckRanges> ranges;
    std::size_t count = 0;
    /// Arrival times in ascending order, at most up to the largest acknowledged. With any, the frame is an ACK_TIMED.
    std::array<AckArrival, kMaxAckArrivals> arrivals;
    std::size_t arrival_count = 0;
    [[nodiscard]] std::span<const AckArrival> arrival_view() const noexcept { return {arrivals.data(), arrival_count}; }
    [[nodiscard]] std::span<const AckRange> view() const noexcept { return {ranges.data(), count}; }
    [[nodiscard]] PacketNumber largest() const noexcept { return ranges[0].last; }
};
/// Represents an AckFrame (4 KB) inside Frame, so that a Frame stays small. The creator of the view owns the AckFrame.
struct AckFrameView {
    const AckFrame* frame = nullptr;
};
struct CryptoFrame {
    std::uint64_t offset = 0;
    std::span<const std::byte> data;
};
struct StreamFrame {
    StreamId id;
    std::uint64_t offset = 0;
    std::span<const std::byte> data;
    bool fin = false;
};
struct MaxDataFrame {
    std::uint64_t limit = 0;
};
struct MaxStreamDataFrame {
    StreamId id;
    std::uint64_t limit = 0;
};
/// Total number of streams that the receiver of this frame may have opened since the start.
struct MaxStreamsFrame {
    std::uint64_t limit = 0;
};
struct ResetStreamFrame {
    StreamId id;
    std::uint64_t code = 0;
    std::uint64_t final_size = 0;
};
struct StopSendingFrame {
    StreamId id;
    std::uint64_t code = 0;
};
/// UDT's receiver measurements. The frame belongs to the next ACK of the same path in its packet.
struct RateFeedbackFrame {
    PathId path;
    std::uint16_t granularity_us = 0;  ///< granularity of arrival times
    /// Half the width of the interval in which the true `line_pps` is, in 1/kWholeError of `line_pps`. kWholeError:
    /// `line_pps` is a lower bound.
    std::uint16_t line_error = 0;
    std::uint16_t pair_bytes = 0;    ///< UDP payload of the pair's second packet
    std::uint64_t arrival_pps = 0;   ///< 0 = unknown
    std::uint64_t capacity_pps = 0;  ///< 0 = unknown
    std::uint64_t pair_gap_ns = 0;   ///< 0 = no new pair
    std::uint64_t line_pps = 0;      ///< measured by packet trains, else by pairs; 0 = unknown
    /// Receiver's clock in microseconds when the largest acknowledged packet arrived; at most kMaxMicroseconds.
    std::uint64_t receive_time_us = 0;
};
/// Packets of a path by their ECN marks (RFC 9000, section 13.4), since the path opened. The frame belongs to the next
/// ACK of the same path in its packet.
struct EcnFrame {
    PathId path;
    std::uint64_t ect0 = 0;
    std::uint64_t ect1 = 0;
    std::uint64_t ce = 0;
};
/// A frame of a later release that may be skipped.
struct ExtensionFrame {
    std::uint8_t type = kExtensionTypes;
    std::span<const std::byte> data;
};
struct PathChallengeFrame {
    std::uint64_t data = 0;
};
struct PathResponseFrame {
    std::uint64_t data = 0;
};
/// State of a path as the sender of this frame sees it, and how it wants the path to be used.
enum class PathStatus : std::uint8_t {
    available = 0,
    standby = 1,    ///< use it only while no available path works
    suspended = 2,  ///< nothing arrives there at the sender of this frame
};
struct PathStatusFrame {
    PathId path;
    PathStatus status = PathStatus::available;
    std::uint64_t sequence = 0;   ///< counts for each path; a frame that is not newer than an earlier one is ignored
    std::uint64_t weight = 1000;  ///< thousandths, at most kMaxPathWeight
};
/// Closes the path for good. Its id is not used again.
struct PathAbandonFrame {
    PathId path;
    std::uint64_t code = 0;
};
struct HandshakeDoneFrame {};
struct CloseFrame {
    std::uint64_t code = 0;
    bool application = false;  ///< code belongs to the application, not to the transport
    std::string_view reason;   ///< meant as UTF-8, at most kMaxCloseReason bytes; the characters are not checked
};

using Frame = std::variant<PaddingFrame, PingFrame, AckFrameView, CryptoFrame, StreamFrame, MaxDataFrame,
                           MaxStreamDataFrame, MaxStreamsFrame, ResetStreamFrame, StopSendingFrame, RateFeedbackFrame,
                           PathChallengeFrame, PathResponseFrame, HandshakeDoneFrame, CloseFrame, PathStatusFrame,
                           PathAbandonFrame, EcnFrame, ExtensionFrame>;

// Converts frames to bytes and back.

/// Reads the next frame. Spans in the frame point into the reader's buffer. A run of padding is returned as one frame.
/// An ACK is decoded into `scratch`; the frame holds a view of it, valid until `scratch` is used again. Returns
/// malformed for an unknown type below kExtensionTypes, a truncated frame, ACK ranges below zero or more than
/// kMaxAckRanges, or a value above its bound; protocol for an unknown type from kMandatoryTypes on.
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
