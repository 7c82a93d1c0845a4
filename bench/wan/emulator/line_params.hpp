// Parameters of one direction of the emulated link, and their changes over time.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/link.hpp"
#include "udtx/rate.hpp"

namespace udtx::wan {

/// Simulated packets that use link time and queue space and are never delivered. From `from` after the start, they have
/// a constant rate for `on` and pause for `off`, periodically.
struct CrossTraffic {
    Rate rate{};  ///< zero: none
    Duration on = std::chrono::hours(1);
    Duration off{};
    Duration from{};
    std::uint32_t packet_bytes = 1500;
};

/// All values apply to IP packets. Bytes are bytes of IP packets.
struct LineParams {
    Rate rate = Rate::infinite();  ///< zero: the link is down, packets wait
    Duration delay{};              ///< propagation, one way
    std::uint64_t queue_bytes =
        std::numeric_limits<std::uint64_t>::max();  ///< waiting bytes, without the packet in transmission
    double loss = 0.0;
    sim::BurstLoss burst{};
    Duration jitter{};       ///< extra delay, uniform in [0, jitter]
    bool keep_order = true;  ///< false: jitter or a falling delay may reorder packets, as in netem
    double reorder = 0.0;    ///< probability that a packet is delayed by `reorder_by`
    Duration reorder_by{};   ///< extra delay that lets later packets overtake
    double duplicate = 0.0;
    Duration coalesce{};  ///< period of the receiver's interrupts; each hands over all packets that have arrived
    CrossTraffic cross{};
};

struct Phase {
    Duration from{};  ///< after the start
    LineParams params;
};

using FlowId = std::uint8_t;  ///< last byte of the far host's address
inline constexpr std::size_t kFlows = 256;

struct LineSetup {
    std::vector<Phase> phases = std::vector<Phase>(1);  ///< in ascending order; the first starts at zero
    std::array<Duration, kFlows> extra_delay{};  ///< added per far host, so that flows of unequal RTT share a queue
    std::uint64_t seed = 1;
};

}  // namespace udtx::wan
