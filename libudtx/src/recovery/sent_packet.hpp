// What the sender remembers of a packet until it is acknowledged or lost. The fixed size avoids allocations per packet.
#pragma once

#include <array>
#include <cstdint>

#include "udtx/ids.hpp"
#include "udtx/time.hpp"

namespace udtx::recovery {

/// Retransmittable frames other than STREAM and CRYPTO. After a loss they are built again from the current state.
enum class Control : std::uint16_t {
    none = 0,
    ping = 1U << 0U,
    max_data = 1U << 1U,
    max_stream_data = 1U << 2U,  ///< stream in SentPacket::control_stream
    reset_stream = 1U << 3U,     ///< stream in SentPacket::control_stream
    stop_sending = 1U << 4U,     ///< stream in SentPacket::control_stream
    handshake_done = 1U << 5U,
    path_response = 1U << 6U,
    max_streams = 1U << 8U,
    ack = 1U << 7U,            ///< not ack-eliciting; this packet carried an ACK up to `ack_largest`
    path_status = 1U << 9U,    ///< path in SentPacket::control_path
    path_abandon = 1U << 10U,  ///< path in SentPacket::control_path
};
[[nodiscard]] constexpr Control operator|(Control a, Control b) noexcept {
    return static_cast<Control>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
[[nodiscard]] constexpr bool has(Control set, Control bit) noexcept {
    return (static_cast<std::uint16_t>(set) & static_cast<std::uint16_t>(bit)) != 0;
}

/// Stream or crypto bytes that a packet carried.
struct SentRange {
    StreamId stream{};
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    bool fin = false;
    bool crypto = false;
    bool copy = false;   ///< sent in addition to the original: its loss needs no repair
    bool again = false;  ///< the bytes were lost before
    // With several paths: the entry of the bytes in the transmission record of their stream.
    bool recorded = false;
    PathId record_path{};  ///< path of the entry; for a copy, that of the original
    std::uint32_t record = 0;
};

inline constexpr std::size_t kMaxRanges = 3;

struct SentPacket {
    PacketNumber number = 0;
    Instant sent;
    std::uint32_t bytes = 0;  ///< UDP payload
    Control control = Control::none;
    bool ack_eliciting = false;
    bool in_flight = false;       ///< counts against the window (ack-eliciting or padded)
    bool mtu_probe = false;       ///< its loss says nothing about congestion
    bool retransmission = false;  ///< carries stream bytes that were sent before
    bool application_limited = false;
    std::uint8_t range_count = 0;
    PathId control_path;
    std::array<SentRange, kMaxRanges> ranges{};
    StreamId control_stream;
    PacketNumber ack_largest = 0;
    // Delivery-rate state at the moment of sending (draft-cheng-iccrg-delivery-rate-estimation, section 3.2).
    std::uint64_t delivered = 0;
    Instant delivered_time;
    Instant first_sent_time;
};

}  // namespace udtx::recovery
