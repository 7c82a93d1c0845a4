// What an application sets on a connection. Every default is usable on any path.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/congestion.hpp"
#include "udtx/rate.hpp"
#include "udtx/scheduler.hpp"
#include "udtx/time.hpp"

namespace udtx {

struct TransportConfig {
    std::string congestion = "udtx";
    /// A controller of one's own in place of the named one; policy, caps and coupling are laid around it as around
    /// those. The name is then what reports call it.
    CongestionFactory congestion_factory{};
    Rate max_rate = Rate::infinite();          ///< cap on what leaves, all paths together, IP and UDP headers included
    Rate max_receive_rate = Rate::infinite();  ///< announced to the peer, whose cap it is
    Policy policy = Policy::fair;              ///< share beside other flows
    /// Floor of what leaves, all paths together, whatever congestion control says; zero: none.
    Rate min_rate{};

    Duration idle_timeout = std::chrono::seconds(30);       ///< nothing heard for so long: the connection ends
    Duration handshake_timeout = std::chrono::seconds(10);  ///< from the first packet to the finished handshake
    Duration keep_alive = std::chrono::seconds(5);          ///< a PING after so long a silence; 0 = none

    std::uint64_t connection_window = 256ULL << 20U;  ///< bytes the peer may have outstanding, all streams (MAX_DATA)
    std::uint64_t stream_window = 64ULL << 20U;       ///< the same for one stream; ordered: reordering buffer bound
    std::uint64_t send_buffer = 64ULL << 20U;         ///< bytes an application may queue on one stream
    std::uint32_t max_streams = 256;                  ///< streams that the peer may open

    std::uint32_t max_paths = 8;           ///< paths that may be open at once, that of the handshake included; 1 to 16
    std::string scheduler = "eds";         ///< which path the next datagram takes, where there are several
    SchedulerFactory scheduler_factory{};  ///< a scheduler of one's own in place of the named one
    bool reinject = true;                  ///< bytes that come late on one path are sent again on another
    Coupling coupling = Coupling::detect;

    std::uint32_t min_datagram = 1200;   ///< UDP payload; the search starts here
    std::uint32_t max_datagram = 65000;  ///< UDP payload; the search never goes beyond

    std::uint64_t rekey_after_packets = 1ULL << 22U;  ///< before AES-GCM's 2^23 (RFC 9001, section 6.6)
};

}  // namespace udtx
