// Settings of a connection. The defaults suit any network.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/congestion.hpp"
#include "udtx/rate.hpp"
#include "udtx/scheduler.hpp"

namespace udtx {

/// Upper limit of TransportConfig::max_memory, in bytes. With more data in flight packet numbers would be ambiguous
/// (docs/inside/wire-format.md).
inline constexpr std::uint64_t kMaxWindowMemory = 4ULL << 30U;

/// Settings of one connection. Each end has its own.
struct TransportConfig {
    /// Name of the controller: one of congestion_controller_names(), see docs/inside/congestion.md.
    std::string congestion = "udtx";
    /// Makes a controller of the program instead of the named one. `congestion` is then its name in reports. Policy,
    /// caps and coupling still apply.
    CongestionFactory congestion_factory{};
    Rate max_rate = Rate::infinite();  ///< cap of the sending rate of all paths together, with IP and UDP headers
    Rate max_receive_rate = Rate::infinite();  ///< cap of the peer's sending rate; the handshake sends it to the peer
    Policy policy = Policy::fair;              ///< share of the link beside other flows
    Rate min_rate{};                           ///< floor of the sending rate, regardless of congestion; zero: no floor

    Duration idle_timeout = std::chrono::seconds(30);  ///< the connection ends if the peer sends nothing for this long
    Duration handshake_timeout = std::chrono::seconds(10);  ///< limit from the first packet to the end of the handshake
    /// Silence after which a PING is sent. If a third of the lower `idle_timeout` of both ends is less, that counts
    /// instead. Zero: never.
    Duration keep_alive = std::chrono::seconds(5);

    /// Limit of received bytes that the program has not read, all streams together.
    std::uint64_t connection_window = 256ULL << 20U;
    std::uint64_t stream_window = 64ULL << 20U;  ///< the same limit for one stream
    std::uint64_t send_buffer = 64ULL << 20U;    ///< limit of unacknowledged bytes of one stream
    /// Limit, in bytes, by which these three may grow, for all connections of an endpoint together. Each grows to twice
    /// what one round trip delivers, and shrinks again. At most kMaxWindowMemory; 0: the three stay fixed.
    std::uint64_t max_memory = 1ULL << 30U;
    std::uint32_t max_streams = 256;  ///< limit of concurrent streams that the peer opens

    std::uint32_t max_paths = 8;  ///< limit of open paths, including that of the handshake; 1 to 16
    /// Name of the scheduler: one of path_scheduler_names(), see docs/inside/multipath.md.
    std::string scheduler = "eds";
    SchedulerFactory scheduler_factory{};  ///< makes a scheduler of the program instead of the named one
    bool reinject = true;                  ///< send bytes that are late on one path again on another path
    Coupling coupling = Coupling::detect;  ///< coupling of the congestion controllers of several paths

    std::uint32_t min_datagram = 1200;   ///< UDP payload with which the path MTU search starts, bytes
    std::uint32_t max_datagram = 65000;  ///< UDP payload with which the path MTU search ends, bytes

    /// Mark data packets with ECT(0), so that routers with ECN (RFC 3168) report congestion without loss. A path that
    /// changes marks gets none after a few packets. Off, because some networks drop marked packets.
    bool ecn = false;

    std::uint64_t rekey_after_packets = 1ULL << 22U;  ///< packets per key; RFC 9001, section 6.6 allows 2^23
};

}  // namespace udtx
