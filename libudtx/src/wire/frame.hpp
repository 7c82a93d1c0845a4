// Frames: what a packet's payload is made of. One struct a frame, no behaviour. Layouts: docs/inside/wire-format.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "udtx/ids.hpp"

namespace udtx::wire {

enum class FrameType : std::uint8_t {
    padding = 0x00,
    ping = 0x01,
    ack = 0x02,
    crypto = 0x03,
    ack_timed = 0x04,
    stream_to_end = 0x06,
    stream_to_end_fin = 0x07,
    stream = 0x08,
    stream_fin = 0x09,
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
};

/// Most ACK ranges that a frame may carry; more is malformed.
inline constexpr std::size_t kMaxAckRanges = 256;
/// Most arrival times that an ACK may carry; more is malformed.
inline constexpr std::size_t kMaxAckArrivals = 16;
/// Of the packets that come without a gap, every so manieth's arrival is told, or fewer.
inline constexpr PacketNumber kArrivalEvery = 8;
/// Times in microseconds stay below this, so that they and the difference of any two one-way delays made of them fit a
/// Duration (nanoseconds in 63 bits).
inline constexpr std::uint64_t kMaxMicroseconds = (1ULL << 52U) - 1;
inline constexpr std::uint64_t kMaxPairBytes = 65535;
inline constexpr std::uint64_t kMaxGranularity = 65535;  // us
inline constexpr std::uint16_t kWholeError = 1000;
inline constexpr std::size_t kMaxCloseReason = 256;
/// Weights of paths are told in thousandths.
inline constexpr std::uint64_t kMaxPathWeight = 1'000'000'000;

/// Closed interval of packet numbers.
struct AckRange {
    PacketNumber first = 0;
    PacketNumber last = 0;
    friend constexpr bool operator==(AckRange, AckRange) noexcept = default;
};

/// When a packet arrived, counted back from the arrival of the largest acknowledged.
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
    /// Time that the receiver held the acknowledgement of the largest number; at most kMaxMicroseconds.
    std::uint64_t delay_us = 0;
    /// Descending, disjoint, not adjacent; ranges[0].last is the largest acknowledged. count >= 1.
    std::array<AckRange, kMaxAckRanges> ranges;
    std::size_t count = 0;
    /// Written as ACK_TIMED when there are any. Ascending, none above the largest.
    std::array<AckArrival, kMaxAckArrivals> arrivals;
    std::size_t arrival_count = 0;
    [[nodiscard]] std::span<const AckArrival> arrival_view() const noexcept { return {arrivals.data(), arrival_count}; }
    [[nodiscard]] std::span<const AckRange> view() const noexcept { return {ranges.data(), count}; }
    [[nodiscard]] PacketNumber largest() const noexcept { return ranges[0].last; }
};
/// Stands for an AckFrame (4 KB) inside Frame, so that a Frame stays small; whoever made the view owns the frame.
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
/// How many streams the receiver of this frame may have opened in all since the start.
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
/// UDT's receiver measurements, beside the ACK that they belong to.
struct RateFeedbackFrame {
    PathId path;
    std::uint16_t granularity_us = 0;  ///< of arrival times
    /// Half the width of what `line_pps` may be, in kWholeError of it; kWholeError: it may be any more.
    std::uint16_t line_error = 0;
    std::uint16_t pair_bytes = 0;    ///< UDP payload of the pair's second packet
    std::uint64_t arrival_pps = 0;   ///< 0 = unknown
    std::uint64_t capacity_pps = 0;  ///< 0 = unknown
    std::uint64_t pair_gap_ns = 0;   ///< 0 = no new pair
    std::uint64_t line_pps = 0;      ///< by packet trains, else by pairs; 0 = unknown
    /// Receiver's clock when the largest acknowledged packet arrived; at most kMaxMicroseconds.
    std::uint64_t receive_time_us = 0;
};
struct PathChallengeFrame {
    std::uint64_t data = 0;
};
struct PathResponseFrame {
    std::uint64_t data = 0;
};
/// How the sender of this frame sees a path, and wants it used.
enum class PathStatus : std::uint8_t {
    available = 0,
    standby = 1,    ///< only for when no available path works
    suspended = 2,  ///< it hears nothing there at present
};
struct PathStatusFrame {
    PathId path;
    PathStatus status = PathStatus::available;
    std::uint64_t sequence = 0;   ///< of one path: a frame that is not newer than one before is ignored
    std::uint64_t weight = 1000;  ///< thousandths, at most kMaxPathWeight
};
/// The path is gone for good; its id is not used again.
struct PathAbandonFrame {
    PathId path;
    std::uint64_t code = 0;
};
struct HandshakeDoneFrame {};
struct CloseFrame {
    std::uint64_t code = 0;
    bool application = false;  ///< code belongs to the application, not to the transport
    std::string_view reason;   ///< UTF-8, at most kMaxCloseReason bytes; not checked for printable characters
};

using Frame =
    std::variant<PaddingFrame, PingFrame, AckFrameView, CryptoFrame, StreamFrame, MaxDataFrame, MaxStreamDataFrame,
                 MaxStreamsFrame, ResetStreamFrame, StopSendingFrame, RateFeedbackFrame, PathChallengeFrame,
                 PathResponseFrame, HandshakeDoneFrame, CloseFrame, PathStatusFrame, PathAbandonFrame>;

}  // namespace udtx::wire
