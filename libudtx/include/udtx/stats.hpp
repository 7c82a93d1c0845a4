// Figures of a connection. Counters only grow; all else is the value at the time of the call.
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
    probing,    ///< asked for, and not validated
    active,     ///< carries data
    suspended,  ///< fell silent while others work; carries only probes until it answers
    closed,     ///< gone for good
};
/// "probing", "active" and so on.
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
    host,         ///< nothing but this host, which is busy
    application,  ///< nothing waits to be sent
    credit,       ///< flow control of the peer
    cap,          ///< max_rate of this end, or max_receive_rate of the peer
    network,      ///< window and pace of the congestion control
};
inline constexpr std::size_t kSendHolds = 5;  ///< number of values
/// Times, indexed by SendHold.
using HoldTimes = std::array<Duration, kSendHolds>;

/// Figures of one path since it was opened.
struct PathStats {
    PathId id;                                ///< which path
    PathState state = PathState::active;      ///< what it does
    bool standby = false;                     ///< PathRequest::standby
    Address local;                            ///< of this end; Family::none: as the routes say
    Address remote;                           ///< of the peer
    std::uint32_t datagram_bytes = 0;         ///< UDP payload of a full datagram
    Duration smoothed_rtt{};                  ///< RFC 9002, section 5.3; zero: no sample yet
    Duration min_rtt{};                       ///< least sample; zero: none yet
    Duration rtt_variance{};                  ///< RFC 9002, section 5.3
    std::uint64_t window = 0;                 ///< bytes that may be in flight
    std::uint64_t in_flight = 0;              ///< bytes
    Rate pacing_rate;                         ///< of the congestion control, or the cap
    CongestionReport congestion;              ///< state of the controller
    LineEstimate line;                        ///< by the last report of the peer
    std::uint64_t sent_packets = 0;           ///< all, sent again or not
    std::uint64_t sent_bytes = 0;             ///< of UDP payload
    std::uint64_t received_packets = 0;       ///< authentic ones, each once
    std::uint64_t received_bytes = 0;         ///< of UDP payload
    std::uint64_t lost_packets = 0;           ///< declared lost
    std::uint64_t spurious_losses = 0;        ///< of `lost_packets`: acknowledged later
    std::uint64_t retransmitted_packets = 0;  ///< packets that carried stream bytes again
    std::uint64_t probe_timeouts = 0;         ///< RFC 9002, section 6.2
    std::uint64_t delivered_bytes = 0;        ///< stream bytes acknowledged here, copies included
    std::uint64_t reinjected_bytes = 0;       ///< stream bytes sent here because they were late on another path
    /// Packets of this path that the receiver cannot hand over yet, as a multiple of the largest flight. About 1 at
    /// rest, more while bytes wait for a path with a long queue. 0 with one path, or without TransportConfig::reinject.
    double transmit_times = 0.0;
    std::uint64_t suspensions = 0;  ///< how often it fell silent
    Duration blocked{};             ///< time in which it carried only probes: suspended, or left out by the scheduler
};

/// Figures of one connection since it began, and of each of its paths.
struct ConnectionStats {
    std::vector<PathStats> paths;             ///< open ones, then removed ones
    std::uint64_t stream_bytes_sent = 0;      ///< each byte once
    std::uint64_t stream_bytes_resent = 0;    ///< sent again
    std::uint64_t stream_bytes_received = 0;  ///< each byte once
    /// Bytes sent from the first that is not acknowledged on: those in flight, and those that wait for them.
    std::uint64_t stream_bytes_outstanding = 0;
    std::uint64_t duplicate_packets = 0;      ///< dropped by the replay window
    std::uint64_t undecryptable_packets = 0;  ///< dropped: they do not authenticate
    std::uint64_t key_updates = 0;            ///< generations of keys after the first
    HoldTimes held{};                         ///< what has kept bytes from leaving since the handshake, and how long
    SendHold hold = SendHold::host;           ///< what keeps them now
    std::string cipher;                       ///< AEAD of the packets
    std::string congestion;                   ///< name of the congestion control
};

}  // namespace udtx
