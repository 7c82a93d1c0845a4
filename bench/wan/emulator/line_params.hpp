// What one direction of the emulated line does to packets, and when that changes.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/link.hpp"
#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx::wan {

/// Packets of nobody that take line time and queue space: constant rate, `on` long, then silent for `off`, again and
/// again from `from` after the start.
struct CrossTraffic {
    Rate rate{};  ///< zero: none
    Duration on = std::chrono::hours(1);
    Duration off{};
    Duration from{};
    std::uint32_t packet_bytes = 1500;
};

/// All of it per IP packet; bytes are IP bytes.
struct LineParams {
    Rate rate = Rate::infinite();                                           ///< zero: the line is down, packets wait
    Duration delay{};                                                       ///< propagation, one way
    std::uint64_t queue_bytes = std::numeric_limits<std::uint64_t>::max();  ///< waiting, without the one being sent
    double loss = 0.0;
    sim::BurstLoss burst{};
    Duration jitter{};       ///< extra delay, uniform in [0, jitter]
    bool keep_order = true;  ///< false: what jitter or a falling delay brings sooner overtakes, as in netem
    double reorder = 0.0;    ///< probability of ...
    Duration reorder_by{};   ///< ... this much extra delay, later packets overtaking
    double duplicate = 0.0;
    Duration coalesce{};  ///< between two interrupts of the receiver's card, at which all that has come is handed over
    CrossTraffic cross{};
};

struct Phase {
    Duration from{};  ///< after the start
    LineParams params;
};

using FlowId = std::uint8_t;  ///< last byte of the far host's address
inline constexpr std::size_t kFlows = 256;

struct LineSetup {
    std::vector<Phase> phases = std::vector<Phase>(1);  ///< the first from zero, rising
    std::array<Duration, kFlows> extra_delay{};         ///< of one far host, so that flows of unequal RTT share a queue
    std::uint64_t seed = 1;
};

}  // namespace udtx::wan
