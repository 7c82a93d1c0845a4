// Statistics of a connection. Counters only grow. All other members are values at the time of the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/congestion.hpp"
#include "udtx/ids.hpp"
#include "udtx/rate.hpp"

namespace udtx {

/// State of a path.
enum class PathState : std::uint8_t {
    probing,    ///< requested, but not validated yet
    active,     ///< carries data
    suspended,  ///< does not respond while other paths work; carries only probes until it responds
    closed,     ///< closed for good
};
/// Name of the state: "probing", "active", "suspended" or "closed".
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

/// The reason why the next byte waits.
enum class SendHold : std::uint8_t {
    host,         ///< this host is busy; nothing else holds the byte
    application,  ///< the program has written no more bytes
    credit,       ///< the peer's flow control
    cap,          ///< max_rate of this end, or max_receive_rate of the peer
    network,      ///< congestion window or pacing
};
inline constexpr std::size_t kSendHolds = 5;  ///< number of values of SendHold
/// Durations, indexed by SendHold.
using HoldTimes = std::array<Duration, kSendHolds>;

/// Statistics of one path since it was opened.
struct PathStats {
    PathId id;                                ///< which path
    PathState state = PathState::active;      ///< state of the path
    bool standby = false;                     ///< PathRequest::standby
    Address local;                            ///< local address; Family::none: the routing table decides
    Address remote;                           ///< address of the peer
    std::uint32_t datagram_bytes = 0;         ///< UDP payload of a full datagram, bytes
    Duration smoothed_rtt{};                  ///< smoothed RTT (RFC 9002, section 5.3); zero: no sample yet
    Duration min_rtt{};                       ///< smallest RTT sample; zero: no sample yet
    Duration rtt_variance{};                  ///< RTT variance (RFC 9002, section 5.3)
    std::uint64_t window = 0;                 ///< congestion window, bytes
    std::uint64_t in_flight = 0;              ///< bytes in flight
    Rate pacing_rate;                         ///< rate of the congestion controller, or the cap
    CongestionReport congestion;              ///< state of the congestion controller
    LineEstimate line;                        ///< estimate of the bottleneck link from the peer's last report
    std::optional<KnownPath> known;           ///< what a later connection may recall (Connection::recall())
    std::uint64_t sent_packets = 0;           ///< sent packets, including those with retransmitted bytes
    std::uint64_t sent_bytes = 0;             ///< UDP payload sent, bytes
    std::uint64_t received_packets = 0;       ///< authenticated packets received, without duplicates
    std::uint64_t received_bytes = 0;         ///< UDP payload received, bytes
    std::uint64_t lost_packets = 0;           ///< packets declared lost
    std::uint64_t spurious_losses = 0;        ///< of `lost_packets`: later acknowledged
    std::uint64_t retransmitted_packets = 0;  ///< packets that carried stream bytes again
    std::uint64_t probe_timeouts = 0;         ///< probe timeouts (RFC 9002, section 6.2)
    /// Stream bytes acknowledged on this path, including copies of bytes that another path carried.
    std::uint64_t delivered_bytes = 0;
    std::uint64_t reinjected_bytes = 0;  ///< stream bytes sent on this path because they were late on another path
    /// Packets of this path whose bytes the receiver cannot deliver yet, divided by the largest flight. The value is
    /// about 1 in steady state, and larger while bytes wait for a path with a long queue. It is 0 with one path, or
    /// without TransportConfig::reinject.
    double transmit_times = 0.0;
    std::uint64_t suspensions = 0;  ///< number of times the path was suspended
    /// Time in which the path carried only probes: while suspended, or while the scheduler left it out.
    Duration blocked{};
};

/// Statistics of one connection since it was made, and of each of its paths.
struct ConnectionStats {
    std::vector<PathStats> paths;             ///< open paths, then removed paths
    std::uint64_t stream_bytes_sent = 0;      ///< stream bytes sent, each byte once
    std::uint64_t stream_bytes_resent = 0;    ///< stream bytes sent again
    std::uint64_t stream_bytes_received = 0;  ///< stream bytes received, each byte once
    /// Bytes sent from the first unacknowledged byte on: bytes in flight, and acknowledged bytes behind a gap.
    std::uint64_t stream_bytes_outstanding = 0;
    std::uint64_t duplicate_packets = 0;      ///< packets that the replay window dropped
    std::uint64_t undecryptable_packets = 0;  ///< packets dropped because authentication failed
    std::uint64_t key_updates = 0;            ///< key generations after the first
    HoldTimes held{};                         ///< time that bytes waited since the handshake, by reason
    SendHold hold = SendHold::host;           ///< why bytes wait at present
    std::string cipher;                       ///< AEAD of the packets
    std::string congestion;                   ///< name of the congestion controller
};

}  // namespace udtx
