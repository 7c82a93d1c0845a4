// What a program can set for a connection. The defaults suit any line.
#pragma once

#include <cstdint>
#include <string>

#include "udtx/congestion.hpp"
#include "udtx/rate.hpp"
#include "udtx/scheduler.hpp"
#include "udtx/time.hpp"

namespace udtx {

/// Bytes: the most that TransportConfig::max_memory may be, so that packets on the way can be told apart
/// (docs/inside/wire-format.md).
inline constexpr std::uint64_t kMaxWindowMemory = 4ULL << 30U;

/// Settings of one connection. Each end has its own.
struct TransportConfig {
    std::string congestion = "udtx";  ///< one of congestion_controller_names(), see docs/inside/congestion.md
    /// Makes a controller of the program's own in place of the named one. `congestion` is then its name in reports.
    /// Policy, caps and coupling hold for it as well.
    CongestionFactory congestion_factory{};
    Rate max_rate = Rate::infinite();          ///< cap of what is sent on all paths, IP and UDP headers included
    Rate max_receive_rate = Rate::infinite();  ///< cap of what the peer sends; it is told
    Policy policy = Policy::fair;              ///< share of the line beside other flows
    Rate min_rate{};                           ///< floor of what is sent, whatever the line says; zero: none

    Duration idle_timeout = std::chrono::seconds(30);       ///< silence of the peer that ends the connection
    Duration handshake_timeout = std::chrono::seconds(10);  ///< from the first packet to the finished handshake
    /// Silence after which a PING is sent, or a third of the lower `idle_timeout` of both ends, if that is less; zero:
    /// never.
    Duration keep_alive = std::chrono::seconds(5);

    std::uint64_t connection_window = 256ULL << 20U;  ///< unread bytes of the peer that this end holds
    std::uint64_t stream_window = 64ULL << 20U;       ///< of `connection_window`, for one stream
    std::uint64_t send_buffer = 64ULL << 20U;         ///< bytes of one stream that wait to be acknowledged
    /// Bytes by which these three may grow, those of all connections of an endpoint together. Each grows to twice what
    /// a round trip delivers, and shrinks again. At most kMaxWindowMemory; 0: they stay as they are.
    std::uint64_t max_memory = 1ULL << 30U;
    std::uint32_t max_streams = 256;  ///< streams of the peer that are open at once

    std::uint32_t max_paths = 8;           ///< open at once, that of the handshake included; 1 to 16
    std::string scheduler = "eds";         ///< one of path_scheduler_names(), see docs/inside/multipath.md
    SchedulerFactory scheduler_factory{};  ///< makes one of the program's own in place of the named one
    bool reinject = true;                  ///< send bytes that are late on one path again on another one
    Coupling coupling = Coupling::detect;  ///< of the congestion control of several paths

    std::uint32_t min_datagram = 1200;   ///< bytes of UDP payload with which the search of the path MTU starts
    std::uint32_t max_datagram = 65000;  ///< bytes of UDP payload with which the search ends

    std::uint64_t rekey_after_packets = 1ULL << 22U;  ///< packets of one key; RFC 9001, section 6.6 allows 2^23
};

}  // namespace udtx
