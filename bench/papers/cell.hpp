// One cell of the matrix: the flows, and the links that they use.
#pragma once

#include <cstdint>
#include <string>

namespace udtx::papers {

// Topology of the papers: A --access-- B --bottleneck-- C. Flows go from A to C, cross traffic from B to C.
struct Cell {
    std::string controller = "udt";
    double alpha = 0.3;    ///< alpha of controller `cd`
    double beta = 0.7;     ///< beta of controller `cd`
    bool printed = false;  ///< `udt` and `cd` follow the equations that the paper prints

    double access_mbps = 100.0;
    double access_delay_ms = 10.0;
    double line_mbps = 100.0;
    double line_delay_ms = 50.0;
    std::uint32_t queue_packets = 2500;      ///< drop-tail queue of B
    std::uint32_t access_queue_packets = 0;  ///< drop-tail queue of A; 0: as long as B's
    double cross_mbps = 0.0;                 ///< cross traffic on the bottleneck, 2 s on and 1 s off
    double cross_from_s = 5.0;

    std::uint32_t flows = 1;
    double join_every_s = 5.0;
    double seconds = 40.0;
    std::uint64_t seed = 1;  ///< seed of the protocol; also shifts each flow's start by up to a SYN interval
};

/// Bytes that a datagram needs on the link in addition to its payload: UDP, IPv4 and PPP headers.
inline constexpr std::uint32_t kLineOverhead = 8 + 20 + 2;
/// UDP payload of a full packet.
inline constexpr std::uint32_t kPayloadBytes = 1472;
inline constexpr std::uint32_t kLineBytes = kPayloadBytes + kLineOverhead;

}  // namespace udtx::papers
