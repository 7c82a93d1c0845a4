// Probes of a line: packet pairs and packet trains, which leave back to back.
//
// Two packets that meet at the slowest link leave it as far apart as one of them takes to pass (packet pairs: Gu and
// Grossman, UDT, 2007). The receiver measures that and reports it with its acknowledgements; the transport
// makes a LineEstimate of each report. Rates are of UDP payload.
#pragma once

#include <algorithm>
#include <cstdint>

#include "udtx/rate.hpp"
#include "udtx/time.hpp"

namespace udtx {

inline constexpr std::uint32_t kPairPackets = 2;  ///< packets of a pair
inline constexpr std::uint32_t kLeastTrainPackets =
    8;  ///< packets of the shortest train: time stamps blur shorter ones
inline constexpr std::uint32_t kUsualTrainPackets = 16;  ///< packets of a train that is long enough, and of the first
inline constexpr std::uint32_t kMostTrainPackets = 64;   ///< packets of the longest train
/// Longest time for which a train may occupy the line: other flows wait for it.
inline constexpr Duration kTrainTime = std::chrono::milliseconds(1);

/// Packets of a probe on a line that takes `packet_time` seconds for one (0: unknown): the longest train within
/// kTrainTime, else a pair. `granularity`, of the receiver's arrival times: a train spans four of them, or lasts twice
/// kTrainTime.
[[nodiscard]] constexpr std::uint32_t fitting_probe(double packet_time, Duration granularity = {}) noexcept {
    if (packet_time <= 0.0) return kUsualTrainPackets;
    const Duration time = std::clamp(4 * granularity, kTrainTime, 2 * kTrainTime);
    const double fit = to_seconds(time) / packet_time;
    if (fit < kLeastTrainPackets) return kPairPackets;
    const std::uint32_t most = granularity > Duration::zero() ? kMostTrainPackets : kUsualTrainPackets;
    return static_cast<std::uint32_t>(std::min(fit, static_cast<double>(most)));
}

/// By what the capacity of a LineEstimate was found.
enum class LineEvidence : std::uint8_t {
    none,    ///< it is unknown
    pairs,   ///< the 20th percentile of many packet pairs
    trains,  ///< the shortest time of a train that two trains agree on
};

/// What is known of a line after one report of the receiver.
struct LineEstimate {
    Rate capacity{};                             ///< zero: unknown
    LineEvidence evidence = LineEvidence::none;  ///< by what `capacity` was found
    bool only_least =
        false;           ///< trains arrive as fast as they leave, or as the card tells: `capacity` is a lower bound
    double error = 0.0;  ///< half the width of what `capacity` may be, as a part of it, 0 to 1; 1 with no granularity:
                         ///< the clumps of trains lie on no line, so that something on the way holds packets up
    Duration granularity{};    ///< of the receiver's arrival times; zero: each packet has a stamp of its own
    Duration age{};            ///< of the newest pair, since the report that told it
    Rate pair_capacity{};      ///< UDT: mean of the pairs near their median; zero: unknown
    Rate newest_pair{};        ///< of the newest pair alone; zero: none since the last report
    double arrival_pps = 0.0;  ///< packets/s at which the packets of this end arrive; 0: unknown
};

}  // namespace udtx
