// What an application sets on a connection. Every default is usable on any path.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/congestion.hpp"
#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx {

struct TransportConfig {
    std::string congestion = "udtx";
    Rate max_rate = Rate::infinite();          ///< cap on what leaves, all paths together, IP and UDP headers included
    Rate max_receive_rate = Rate::infinite();  ///< announced to the peer, whose cap it is
    Policy policy = Policy::fair;              ///< share beside other flows
    /// Floor of what leaves, all paths together, whatever congestion control says; zero: none.
    Rate min_rate{};
    double cd_alpha = 0.3;  ///< thresholds of the congestion degree (controller `cd`)
    double cd_beta = 0.7;

    Duration idle_timeout = std::chrono::seconds(30);       ///< nothing heard for so long: the connection ends
    Duration handshake_timeout = std::chrono::seconds(10);  ///< from the first packet to the finished handshake
    Duration keep_alive = std::chrono::seconds(5);          ///< a PING after so long a silence; 0 = none

    std::uint64_t connection_window = 256ULL << 20U;  ///< bytes the peer may have outstanding, all streams (MAX_DATA)
    std::uint64_t stream_window = 64ULL << 20U;       ///< the same for one stream; ordered: reordering buffer bound
    std::uint64_t send_buffer = 64ULL << 20U;         ///< bytes an application may queue on one stream
    std::uint32_t max_streams = 256;                  ///< streams that the peer may open

    std::uint32_t max_paths = 8;    ///< paths that may be open at once, that of the handshake included; 1 to 16
    std::string scheduler = "eds";  ///< which path the next datagram takes, where there are several
    bool reinject = true;           ///< bytes that come late on one path are sent again on another
    Coupling coupling = Coupling::detect;
    /// An acknowledgement of what was sent before a path fell silent says nothing about what the path does now. Off:
    /// it counts like any other, as in SCTP before its repair (docs/multipath.md).
    bool silent_path_rule = true;
    /// Where ACKs are sparse window-based controllers hear of a stretch ACK's packets one by one while they probe, and
    /// pace by the interval of ACKs, too. Off for experiments only.
    bool regenerate_acks = true;

    std::uint32_t min_datagram = 1200;   ///< UDP payload; the search starts here
    std::uint32_t max_datagram = 65000;  ///< UDP payload; the search never goes beyond

    std::uint64_t rekey_after_packets = 1ULL << 22U;  ///< before AES-GCM's 2^23 (RFC 9001, section 6.6)
};

}  // namespace udtx
