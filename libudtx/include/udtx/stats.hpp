// What a connection reports. Counters only grow; gauges are the value at the moment of the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/congestion.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// Life of a path.
enum class PathState : std::uint8_t {
    probing,    ///< asked for, not validated yet
    active,     ///< carries data
    suspended,  ///< fell silent while others work: carries nothing but probes until it answers
    closed,     ///< gone for good
};
[[nodiscard]] constexpr const char* to_string(PathState state) noexcept {
    switch (state) {
        case PathState::probing:
            return "probing";
        case PathState::active:
            return "active";
        case PathState::suspended:
            return "suspended";
        case PathState::closed:
            return "closed";
    }
    return "";
}

/// What keeps the next byte from leaving.
enum class SendHold : std::uint8_t {
    host,         ///< nothing: it may leave as soon as this host comes round to it
    application,  ///< nothing waits to be sent
    credit,       ///< the peer takes no more: its flow control
    cap,          ///< the rate that either end's user set as the most
    network,      ///< window and pace of the congestion control
};
inline constexpr std::size_t kSendHolds = 5;
/// By SendHold.
using HoldTimes = std::array<Duration, kSendHolds>;

/// Figures of one path since it was opened.
struct PathStats {
    PathId id;
    PathState state = PathState::active;
    bool standby = false;
    Address local;
    Address remote;
    std::uint32_t datagram_bytes = 0;  ///< UDP payload in use on this path
    Duration smoothed_rtt{};           ///< zero until the first sample
    Duration min_rtt{};
    Duration rtt_variance{};
    std::uint64_t window = 0;     ///< bytes
    std::uint64_t in_flight = 0;  ///< bytes
    Rate pacing_rate;
    CongestionReport congestion;
    LineEstimate line;  ///< by the peer's last report of what it receives here; the pair is the newest there was
    std::uint64_t sent_packets = 0;
    std::uint64_t sent_bytes = 0;  ///< UDP payload
    std::uint64_t received_packets = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t lost_packets = 0;           ///< declared lost
    std::uint64_t spurious_losses = 0;        ///< of those, acknowledged after all
    std::uint64_t retransmitted_packets = 0;  ///< packets that carried stream bytes again
    std::uint64_t probe_timeouts = 0;
    std::uint64_t delivered_bytes = 0;   ///< stream payload acknowledged here, copies included
    std::uint64_t reinjected_bytes = 0;  ///< stream payload sent here because it was late on another path
    /// Packets given to this path that the receiver waits with, over the largest flight: about 1 at rest, more while
    /// bytes wait for a bloated path. 0 with one path or without reinjection, which watches it.
    double transmit_times = 0.0;
    std::uint64_t suspensions = 0;
    Duration blocked{};  ///< time in which it carried nothing but probes: suspended, or left out by the scheduler
};

/// Figures of one connection since it began, and of each of its paths.
struct ConnectionStats {
    std::vector<PathStats> paths;
    std::uint64_t stream_bytes_sent = 0;      ///< stream payload, first transmissions
    std::uint64_t stream_bytes_resent = 0;    ///< stream payload, again
    std::uint64_t stream_bytes_received = 0;  ///< stream payload, each byte once
    /// Sent, and not acknowledged together with all bytes before them: what is on its way, and what waits for it.
    std::uint64_t stream_bytes_outstanding = 0;
    std::uint64_t duplicate_packets = 0;  ///< dropped by the replay window
    std::uint64_t undecryptable_packets = 0;
    std::uint64_t key_updates = 0;
    HoldTimes held{};                ///< since the handshake, up to when it was last looked at
    SendHold hold = SendHold::host;  ///< since then
    std::string cipher;
    std::string congestion;
};

}  // namespace udtx
