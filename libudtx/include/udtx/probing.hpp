// Probes of a path: packet pairs and packet trains. Their packets are sent back to back.
//
// Two packets that queue together at the slowest link leave it with a gap of one transmission time (packet pairs: Gu
// and Grossman, UDT, 2007). The receiver measures this gap and reports it with its acknowledgements. The transport
// makes a LineEstimate from each report. "Line" in these names means the bottleneck link of the path. All rates count
// UDP payload.
#pragma once

#include <algorithm>
#include <cstdint>

#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx {

inline constexpr std::uint32_t kPairPackets = 2;  ///< packets of a pair
/// Packets of the shortest train. Time stamp errors would blur shorter ones.
inline constexpr std::uint32_t kLeastTrainPackets = 8;
/// Packets of the first train, and the limit while each packet has its own stamp.
inline constexpr std::uint32_t kUsualTrainPackets = 16;
inline constexpr std::uint32_t kMostTrainPackets = 64;  ///< packets of the longest train
/// Maximum time for which a train may occupy the link, since other flows wait during it.
inline constexpr Duration kTrainTime = std::chrono::milliseconds(1);

/// Returns the number of packets of a probe on a link that needs `packet_time` seconds for one packet (0: unknown). The
/// result is the longest train that fits into kTrainTime, or a pair if no train fits. `granularity` is that of the
/// receiver's arrival times: a train may last four times as long as that, but at least kTrainTime and at most twice
/// kTrainTime.
[[nodiscard]] constexpr std::uint32_t fitting_probe(double packet_time, Duration granularity = {}) noexcept {
    if (packet_time <= 0.0) return kUsualTrainPackets;
    const Duration time = std::clamp(4 * granularity, kTrainTime, 2 * kTrainTime);
    const double fit = to_seconds(time) / packet_time;
    if (fit < kLeastTrainPackets) return kPairPackets;
    const std::uint32_t most = granularity > Duration::zero() ? kMostTrainPackets : kUsualTrainPackets;
    return static_cast<std::uint32_t>(std::min(fit, static_cast<double>(most)));
}

/// How the capacity of a LineEstimate was measured.
enum class LineEvidence : std::uint8_t {
    none,    ///< the capacity is unknown
    pairs,   ///< 20th percentile of many packet pairs
    trains,  ///< shortest duration of a train that two trains confirm
};

/// The estimate of the bottleneck link after one report of the receiver.
struct LineEstimate {
    Rate capacity{};                             ///< capacity of the link; zero: unknown
    LineEvidence evidence = LineEvidence::none;  ///< how `capacity` was measured
    /// True if `capacity` is only a lower bound: trains arrive as fast as they were sent, or `error` is 1, for example
    /// because interrupt coalescing of the receiver's network card hides their length.
    bool only_least = false;
    /// Relative error of `capacity`: half the width of its uncertainty interval, divided by `capacity`, 0 to 1. If it
    /// is 1 and `granularity` is zero, the path delays packets in an irregular way: the clumps of a train do not lie on
    /// a straight line of bytes over time.
    double error = 0.0;
    /// Mean time between clumps, that is, groups of packets with a common receive time stamp. Zero: each packet has its
    /// own stamp.
    Duration granularity{};
    Duration age{};            ///< time since the report that contained the newest pair
    Rate pair_capacity{};      ///< UDT's capacity: mean of the pairs near their median; zero: unknown
    Rate newest_pair{};        ///< rate of the newest pair alone; zero: no pair since the last report
    double arrival_pps = 0.0;  ///< packets/s at which packets of this end arrive at the receiver; 0: unknown
};

}  // namespace udtx
